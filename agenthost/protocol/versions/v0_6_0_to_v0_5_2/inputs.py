"""Input requests: parts of the active turn in 0.6.0, a list beside the turns in 0.5.2.

Owns the move between the two, and what of a chat's status follows from it: in 0.5.2 a request
counts wherever it is listed, and a call that waits for authentication does not count at all.
"""

from __future__ import annotations

from typing import Any

from agenthost.protocol.json_edits import without
from agenthost.protocol.status import (
    ACTIVITY_MASK,
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    with_activity,
)
from agenthost.protocol.versions.node_edits import Json, inside

# Calls in these states wait for a person, to a 0.5.2 client.
_BLOCKED = frozenset({"pending-confirmation", "pending-result-confirmation"})


def is_open(part: Any) -> bool:
    """Say whether a part is an input request that has no response."""
    return (
        isinstance(part, dict)
        and part.get("kind") == "inputRequest"
        and part.get("response") is None
    )


def keep_resolved(turn: Json) -> Json:
    """Return a turn without its open requests."""
    parts = turn.get("responseParts")
    if not isinstance(parts, list) or not any(map(is_open, parts)):
        return turn
    return {**turn, "responseParts": [part for part in parts if not is_open(part)]}


def requests_down(state: Json) -> Json:
    """Return a chat with the open requests of its active turn in a list of their own."""
    turn = state.get("activeTurn")
    if isinstance(turn, dict):
        requests = [part["request"] for part in turn["responseParts"] if is_open(part)]
        if requests:
            state = {**state, "activeTurn": keep_resolved(turn), "inputRequests": requests}
    status = with_activity(state["status"], _settled_activity(state))
    return state if status == state["status"] else {**state, "status": status}


def requests_up(state: Json) -> Json:
    """Return a chat with its listed requests as open parts at the end of the active turn.

    Requests of an idle chat have no place in the newer model, and neither has their status.
    """
    requests = state.get("inputRequests")
    if not isinstance(requests, list):
        return state
    moved = without(state, "inputRequests")
    if isinstance(state.get("activeTurn"), dict):
        parts = [{"kind": "inputRequest", "request": request} for request in requests]
        return inside(moved, "activeTurn", lambda turn: _with_parts(turn, parts))
    status = state.get("status")
    if not isinstance(status, int) or status & ACTIVITY_MASK != INPUT_NEEDED:
        return moved
    return {**moved, "status": with_activity(status, IDLE)}


def _with_parts(turn: Json, parts: list[Json]) -> Json:
    return inside(
        turn, "responseParts", lambda told: [*told, *parts] if isinstance(told, list) else told
    )


def older_activity(state: Json) -> int:
    """Return the activity that 0.5.2 computes for a chat in its own form."""
    if state.get("inputRequests") or blocked(state):
        return INPUT_NEEDED
    return IN_PROGRESS if state.get("activeTurn") is not None else IDLE


def blocked(state: Json) -> bool:
    """Say whether a call of the active turn waits for a person."""
    turn = state.get("activeTurn")
    return turn is not None and any(
        part["kind"] == "toolCall" and part["toolCall"]["status"] in _BLOCKED
        for part in turn["responseParts"]
    )


def _settled_activity(state: Json) -> int:
    """Return what 0.5.2 shows for a chat: what it would compute, where that differs by version.

    Elsewhere the newer activity stands, because not every action recomputes it in either version.
    """
    activity: int = state["status"] & ACTIVITY_MASK
    if activity == ERROR:
        return ERROR
    if activity == INPUT_NEEDED or state.get("inputRequests"):
        return older_activity(state)
    return activity
