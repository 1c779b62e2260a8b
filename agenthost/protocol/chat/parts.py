"""Walks over the turns of a chat: its tool calls, open requests, and why one failed. Pure.

Parts of a kind that is not known here are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from agenthost.protocol.chat.input_state import ChatInputRequest
    from agenthost.protocol.chat.state import ActiveTurn, ChatState, CompletedTurn
    from agenthost.protocol.chat.tool_state import ToolCallState
    from agenthost.protocol.common import ErrorInfo


def turns_of(chat: ChatState) -> Iterator[CompletedTurn | ActiveTurn]:
    """Yield a chat's turns in order, the one under way last."""
    yield from chat["turns"]
    active = chat.get("activeTurn")
    if active is not None:
        yield active


def tool_calls(turn: CompletedTurn | ActiveTurn | None) -> Iterator[ToolCallState]:
    """Yield the tool calls of a turn in order; there are none without a turn."""
    for part in turn["responseParts"] if turn is not None else ():
        if part["kind"] == "toolCall":
            yield part["toolCall"]


def open_requests(turn: CompletedTurn | ActiveTurn | None) -> Iterator[ChatInputRequest]:
    """Yield the input requests of a turn that nobody has answered; none without a turn."""
    for part in turn["responseParts"] if turn is not None else ():
        if part["kind"] == "inputRequest" and part.get("response") is None:
            yield part["request"]


def error_of(turn: CompletedTurn) -> ErrorInfo | None:
    """Return why a turn failed; None for one that did not, or that does not say.

    A turn that was taken up again after a failure keeps the parts of earlier ones, so the last
    counts, and only in a turn that ended so.
    """
    if turn["state"] != "error":
        return None
    parts: list[Any] = turn["responseParts"]
    for part in reversed(parts):
        # Asked about what broken hosts sent, too.
        match part:
            case {"kind": "error", "error": {**error}}:
                return cast("ErrorInfo", error)
    return None
