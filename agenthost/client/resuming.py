"""Resuming a turn that failed: which one can be, and how to see that one was.

Pure. What the host makes of it is in the chat's state; how it is told is for ``events`` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


def is_resumable(turn: Json) -> bool:
    """Return whether a completed turn failed with an error after which it can go on."""
    parts = turn["responseParts"]
    match parts[-1] if turn["state"] == "error" and parts else None:
        case {"kind": "error", "resumable": True}:
            return True
    return False


def resumable_turn(chat: Json) -> Json:
    """Return the turn of a chat that can be resumed: the last one, if nothing runs.

    Raises:
        LookupError: there is none, with the reason.
    """
    if chat.get("activeTurn") is not None:
        raise LookupError("a turn is running, so there is none to resume")
    if not chat["turns"]:
        raise LookupError("there is no turn to resume")
    last: Json = chat["turns"][-1]
    if last["state"] != "error":
        raise LookupError("the last turn did not fail, so there is nothing to resume")
    if not is_resumable(last):
        raise LookupError("the last turn failed in such a way that it cannot be resumed")
    return last


def was_resumed(failed: Json, chat: Json) -> bool:
    """Return whether a turn that had failed has gone on since, and perhaps ended again."""
    now = None if failed["state"] != "error" else find_turn(chat, failed["id"])
    if now is None or now is failed:
        return False
    # A turn that is over changes in no other way, though it may be another object.
    return now.get("state") != "error" or len(now["responseParts"]) > len(failed["responseParts"])


def find_turn(chat: Json, turn_id: str) -> Json | None:
    """Return a chat's turn by its id, the one under way or the last that is over."""
    active: Json | None = chat.get("activeTurn")
    if active is not None and active["id"] == turn_id:
        return active
    for turn in reversed(chat["turns"]):
        if turn["id"] == turn_id:
            found: Json = turn
            return found
    return None
