"""The turn that runs in a chat: finding it, replacing its parts, and the status that follows.

Only the active turn can be addressed by an action; everything that names another turn changes
nothing. Finished turns are never looked at here, so a step costs the same however long the chat is.
The status bits are in ``protocol.status``; which actions recompute the status is each reducer's own
affair, because the protocol is not uniform about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agenthost.protocol.json_edits import replace_at
from agenthost.protocol.status import (
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_READ,
    with_activity,
    with_flag,
)

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import (
        ActiveTurn,
        ChatState,
        InputRequestResponsePart,
        ResponsePart,
    )
    from agenthost.protocol.chat.tool_state import ToolCallState

# Tool calls in these states wait for somebody outside the turn.
_BLOCKED = frozenset({"pending-confirmation", "pending-result-confirmation", "auth-required"})


def matching_turn(state: ChatState, turn_id: str) -> ActiveTurn | None:
    """Return the active turn when it has that id."""
    turn = state.get("activeTurn")
    return turn if turn is not None and turn["id"] == turn_id else None


def with_parts(state: ChatState, turn: ActiveTurn, parts: list[ResponsePart]) -> ChatState:
    """Return the chat with the active turn's parts replaced."""
    return {**state, "activeTurn": {**turn, "responseParts": parts}}


def with_part_at(state: ChatState, turn: ActiveTurn, index: int, part: ResponsePart) -> ChatState:
    """Return the chat with one part of the active turn replaced."""
    return with_parts(state, turn, replace_at(turn["responseParts"], index, part))


def with_part_added(state: ChatState, turn: ActiveTurn, part: ResponsePart) -> ChatState:
    """Return the chat with a part at the end of the active turn."""
    return with_parts(state, turn, [*turn["responseParts"], part])


def find_tool_call(state: Mapping[str, Any], call_id: str) -> ToolCallState | None:
    """Return a tool call of the active turn; a part that lacks what calls have is none."""
    for part in _parts(state):
        match part:
            case {"kind": "toolCall", "toolCall": {"toolCallId": id}} if id == call_id:
                call: ToolCallState = part["toolCall"]
                return call
    return None


def find_request(
    state: Mapping[str, Any], request_id: str, *, answered: bool
) -> InputRequestResponsePart | None:
    """Return the part in which the active turn asks people, if it is answered, or still open."""
    for part in _parts(state):
        match part:
            case {"kind": "inputRequest", "request": {"id": id}} if id == request_id:
                if (part.get("response") is not None) == answered:
                    found: InputRequestResponsePart = part
                    return found
    return None


def _parts(state: Mapping[str, Any]) -> list[Any]:
    turn = state.get("activeTurn")
    return [] if turn is None else turn["responseParts"]


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
