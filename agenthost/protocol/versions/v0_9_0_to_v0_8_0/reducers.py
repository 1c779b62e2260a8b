"""How 0.8.0 reduces the actions that 0.9.0 reduces otherwise.

Most of them differ in one thing: a chat that was touched is stamped with the reader's own clock,
even where nothing else has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agenthost.protocol.chat.active_turn import is_open_request, matching_turn, with_part_added
from agenthost.protocol.json_edits import (
    carry,
    carry_given,
    copied_members,
    index_by,
    replace_at,
    updated,
)
from agenthost.protocol.versions.node_edits import Json

if TYPE_CHECKING:
    from agenthost.protocol.reducer_registry import Reducer
    from agenthost.protocol.versions.step import ReducerTable


def older_reducers(newer: ReducerTable) -> ReducerTable:
    """Return the reducers of 0.8.0 that differ from ``newer``."""
    stamped = {name: _stamped(newer[name], touches) for name, touches in _STAMPS.items()}
    return {
        **stamped,
        "chat/error": _error(newer["chat/error"]),
        "chat/responsePart": _response_part,
        "session/creationFailed": _creation_failed(newer["session/creationFailed"]),
        "terminal/exited": _exited,
        "changeset/contentChanged": _content_changed(newer["changeset/contentChanged"]),
        "annotations/updated": _annotation_updated,
    }


def _always(state: Json, action: Json) -> bool:
    return True


def _ends_turn(state: Json, action: Json) -> bool:
    return matching_turn(state, action["turnId"]) is not None  # type: ignore[arg-type]


def _cuts(state: Json, action: Json) -> bool:
    found = "turnId" in action and index_by(state["turns"], "id", action["turnId"]) is not None
    return found or "turnId" not in action


def _asks(state: Json, action: Json) -> bool:
    return state.get("activeTurn") is not None


def _concerns_open_request(state: Json, action: Json) -> bool:
    turn = state.get("activeTurn")
    return turn is not None and any(
        is_open_request(part) and part["request"]["id"] == action["requestId"]
        for part in turn["responseParts"]
    )


# Action -> whether it touches a chat.
_STAMPS: dict[str, Callable[[Json, Json], bool]] = {
    "chat/turnStarted": _always,
    "chat/turnComplete": _ends_turn,
    "chat/turnCancelled": _ends_turn,
    "chat/truncated": _cuts,
    "chat/inputRequested": _asks,
    "chat/inputAnswerChanged": _concerns_open_request,
    "chat/inputCompleted": _concerns_open_request,
}


def _stamped(newer: Reducer, touches: Callable[[Json, Json], bool]) -> Reducer:
    """Stamp the chat with the present time if the action touches it."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        after: Json = newer(state, action, now)
        return {**after, "modifiedAt": now} if touches(state, action) else after

    return reduce


def _error(newer: Reducer) -> Reducer:
    """Record the error beside the parts of the turn that it ends."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        if not _ends_turn(state, action):
            return state
        after: Json = newer(state, {**action, "part": {"kind": "error"}}, now)
        *before, turn = after["turns"]
        failed = {**turn, "responseParts": turn["responseParts"][:-1], **carry(action, "error")}
        return {**after, "turns": [*before, failed], "modifiedAt": now}

    return reduce


def _response_part(state: Json, action: Json, now: str) -> Json:
    """Append a part of any kind, an error too: here it is one that nobody knows."""
    turn = matching_turn(state, action["turnId"])  # type: ignore[arg-type]
    return state if turn is None else with_part_added(state, turn, action["part"])  # type: ignore[arg-type,return-value]


def _creation_failed(newer: Reducer) -> Reducer:
    """Name the failure by its old name."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        return updated(newer(state, action, now), lifecycle="creationFailed")

    return reduce


def _exited(state: Json, action: Json, now: str) -> Json:
    """Set the exit code, or remove it when there is none."""
    return copied_members(state, action, "exitCode")


def _content_changed(newer: Reducer) -> Reducer:
    """Replace the error too, even if none is given."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        return copied_members(newer(state, action, now), action, "error")

    return reduce


def _annotation_updated(state: Json, action: Json, now: str) -> Json:
    """Overwrite what the action gives, the turn among it."""
    annotations = state["annotations"]
    index = index_by(annotations, "id", action["annotationId"])
    if index is None:
        return state
    given = carry_given(action, "turnId", "resource", "range", "resolved")
    edited = updated(annotations[index], **given)
    return {**state, "annotations": replace_at(annotations, index, edited)}
