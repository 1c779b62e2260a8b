"""Reducers of the chat channel for input requests (elicitation).

A request lives as a part of the active turn from the moment it is asked. It is open until it has a
response; answers are drafts that any client may edit meanwhile. Whether an answer fits its question
is for the host to judge before it lets the action through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from agenthost.protocol.chat.active_turn import (
    is_open_request,
    marked_unread,
    refreshed,
    with_part_added,
    with_part_at,
)
from agenthost.protocol.json_edits import prefer, same_if_equal, without
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.chat.actions import (
        ChatInputAnswerChangedAction,
        ChatInputCompletedAction,
        ChatInputRequestedAction,
    )
    from agenthost.protocol.chat.state import ActiveTurn, ChatState, InputRequestResponsePart


@reduces("chat/inputRequested")
def input_requested(state: ChatState, action: ChatInputRequestedAction, now: str) -> ChatState:
    """Ask for input in the active turn, or edit the open request of that id but for its answers."""
    turn = state.get("activeTurn")
    if turn is None:
        return state
    request = action["request"]
    index = _open_request(turn, request["id"])
    if index is None:
        asked = with_part_added(state, turn, {"kind": "inputRequest", "request": request})
    else:
        answers = prefer(request, _part(turn, index)["request"], "answers")
        part = {"kind": "inputRequest", "request": {**request, **answers}}
        asked = with_part_at(state, turn, index, cast("InputRequestResponsePart", part))
    return same_if_equal(state, marked_unread(refreshed(asked)))


@reduces("chat/inputAnswerChanged", client=True, touches=("activeTurn",))
def input_answer_changed(
    state: ChatState, action: ChatInputAnswerChangedAction, now: str
) -> ChatState:
    """Write one draft answer of an open request; an absent answer deletes it."""
    turn = state.get("activeTurn")
    index = None if turn is None else _open_request(turn, action["requestId"])
    if turn is None or index is None:
        return state
    part = _part(turn, index)
    answers = dict(part["request"].get("answers") or {})
    answers.pop(action["questionId"], None)
    if "answer" in action:
        answers[action["questionId"]] = action["answer"]
    changed = with_part_at(state, turn, index, _answered(part, answers))
    return same_if_equal(state, changed)


@reduces("chat/inputCompleted", client=True, touches=("activeTurn", "status"))
def input_completed(state: ChatState, action: ChatInputCompletedAction, now: str) -> ChatState:
    """Close an open request with a response, the given answers laid over the drafts."""
    turn = state.get("activeTurn")
    index = None if turn is None else _open_request(turn, action["requestId"])
    if turn is None or index is None:
        return state
    part = _part(turn, index)
    answers = {**(part["request"].get("answers") or {}), **(action.get("answers") or {})}
    closed: InputRequestResponsePart = {
        **_answered(part, answers),
        "response": action["response"],
    }
    return refreshed(with_part_at(state, turn, index, closed))


def _open_request(turn: ActiveTurn, request_id: str) -> int | None:
    for index, part in enumerate(turn["responseParts"]):
        if is_open_request(part) and _part(turn, index)["request"]["id"] == request_id:
            return index
    return None


def _part(turn: ActiveTurn, index: int) -> InputRequestResponsePart:
    return cast("InputRequestResponsePart", turn["responseParts"][index])


def _answered(part: InputRequestResponsePart, answers: dict[str, Any]) -> InputRequestResponsePart:
    request = without(part["request"], "answers")
    return {**part, "request": {**request, "answers": answers} if answers else request}
