"""How a chat's status follows from what its active turn waits for.

Owns the rule; the bits are in ``protocol.status``. Which actions recompute the status is each
reducer's own affair, because the protocol is not uniform about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.status import (
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_READ,
    with_activity,
    with_flag,
)

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState, ResponsePart

# Tool calls in these states wait for somebody outside the turn.
_BLOCKED = frozenset({"pending-confirmation", "pending-result-confirmation", "auth-required"})


def refreshed(state: ChatState) -> ChatState:
    """Return the chat with its activity recomputed; an earlier error does not survive this."""
    status = with_activity(state["status"], _activity(state))
    return state if status == state["status"] else {**state, "status": status}


def marked_unread(state: ChatState) -> ChatState:
    """Return the chat with its read flag cleared."""
    return {**state, "status": with_flag(state["status"], IS_READ, False)}


def is_open_request(part: ResponsePart) -> bool:
    """Say whether a part is an input request that nobody has answered yet."""
    return part["kind"] == "inputRequest" and "response" not in part


def _activity(state: ChatState) -> int:
    turn = state.get("activeTurn")
    if turn is None:
        return IDLE
    if any(map(_blocks, turn["responseParts"])):
        return INPUT_NEEDED
    return IN_PROGRESS


def _blocks(part: ResponsePart) -> bool:
    if part["kind"] == "toolCall":
        return part["toolCall"]["status"] in _BLOCKED
    return is_open_request(part)
