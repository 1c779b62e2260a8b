"""How 0.5.2 reduces the actions that 0.6.0 reduces otherwise.

Its input requests are a list beside the turns that works while idle too, and that the end of a turn
empties; its Ready does not touch a pending call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import (
    index_by,
    prefer,
    remove_by,
    replace_at,
    upsert_by,
    without,
)
from agenthost.protocol.status import IS_READ, with_activity, with_flag
from agenthost.protocol.versions.node_edits import Json, find_call, put
from agenthost.protocol.versions.v0_6_0_to_v0_5_2.inputs import older_activity

if TYPE_CHECKING:
    from agenthost.protocol.reducer_registry import Reducer
    from agenthost.protocol.versions.step import ReducerTable


def older_reducers(newer: ReducerTable) -> ReducerTable:
    """Return the reducers of 0.5.2 that differ from ``newer``."""
    recomputed = ("chat/turnStarted", "chat/toolCallConfirmed", "chat/toolCallComplete")
    endings = ("chat/turnComplete", "chat/turnCancelled", "chat/error", "chat/truncated")
    review = newer["changeset/filesReviewChanged"]
    return {
        **{name: _recomputed(newer[name]) for name in recomputed},
        "chat/toolCallResultConfirmed": _recomputed(newer["chat/toolCallResultConfirmed"]),
        **{name: _ending(newer[name]) for name in endings},
        "chat/toolCallReady": _ready(newer["chat/toolCallReady"]),
        "chat/inputRequested": _input_requested,
        "chat/inputAnswerChanged": _input_answer_changed,
        "chat/inputCompleted": _input_completed,
        "changeset/filesReviewedChanged": lambda state, action, now: review(
            state, {**action, "files": action["fileIds"]}, now
        ),
    }


def _recomputed(newer: Reducer) -> Reducer:
    """Compute the status by this version's rule."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        return _refreshed(newer(state, action, now))

    return reduce


def _ending(newer: Reducer) -> Reducer:
    """Forget the open requests when a turn ends; its status is right then in both versions."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        after: Json = newer(state, action, now)
        return state if after is state else without(after, "inputRequests")

    return reduce


def _ready(newer: Reducer) -> Reducer:
    """Leave a pending call alone, though the status is recomputed all the same."""
    recomputed = _recomputed(newer)

    def reduce(state: Json, action: Json, now: str) -> Json:
        call = find_call(state, action)
        if call is not None and call["status"] == "pending-confirmation":
            return _refreshed(state)
        return recomputed(state, without(action, "riskAssessment"), now)  # type: ignore[no-any-return]

    return reduce


def _input_requested(state: Json, action: Json, now: str) -> Json:
    """List a request, or edit the listed one of that id but for its answers."""
    request, requests = action["request"], state.get("inputRequests")
    index = index_by(requests, "id", request["id"])
    if requests is not None and index is not None:
        request = {**request, **prefer(request, requests[index], "answers")}
    asked = _refreshed({**state, "inputRequests": upsert_by(requests, "id", request)})
    status = with_flag(asked["status"], IS_READ, False)
    return {**asked, "status": status, "modifiedAt": now}


def _input_answer_changed(state: Json, action: Json, now: str) -> Json:
    """Write one draft answer of a listed request; an absent answer deletes it."""

    def answer(answers: Json) -> Json:
        others = without(answers, action["questionId"])
        return {**others, action["questionId"]: action["answer"]} if "answer" in action else others

    requests = state.get("inputRequests")
    index = index_by(requests, "id", action["requestId"])
    if requests is None or index is None:
        return state
    answered = _answered(requests[index], answer)
    return {**state, "inputRequests": replace_at(requests, index, answered), "modifiedAt": now}


def _input_completed(state: Json, action: Json, now: str) -> Json:
    """Unlist a request, and record it at the end of the active turn if there is one."""
    requests = state.get("inputRequests")
    index = index_by(requests, "id", action["requestId"])
    if requests is None or index is None:
        return state
    left = remove_by(requests, "id", action["requestId"])
    after = {**put(state, "inputRequests", left or None), "modifiedAt": now}
    turn = state.get("activeTurn")
    if turn is not None:
        given = action.get("answers") or {}
        request = _answered(requests[index], lambda answers: {**answers, **given})
        part = {"kind": "inputRequest", "request": request, "response": action["response"]}
        after["activeTurn"] = {**turn, "responseParts": [*turn["responseParts"], part]}
    return _refreshed(after)


def _answered(request: Json, edit: Callable[[Json], Json]) -> Json:
    return put(request, "answers", edit(request.get("answers") or {}) or None)


def _refreshed(state: Json) -> Json:
    status = with_activity(state["status"], older_activity(state))
    return state if status == state["status"] else {**state, "status": status}
