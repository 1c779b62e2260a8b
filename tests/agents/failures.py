"""How a turn failed, as people are told it."""

from __future__ import annotations

from typing import Any, cast

from agenthost.protocol.chat.parts import error_of

Json = dict[str, Any]


def failure(turn: Json) -> Json:
    """Return the error that a turn ended with; it must have ended with one."""
    error = error_of(cast(Any, turn))
    assert error is not None, turn
    return cast(Json, error)


def is_resumable(turn: Json) -> bool:
    """Say whether a turn that failed can be taken up again."""
    return turn["responseParts"][-1].get("resumable") is True
