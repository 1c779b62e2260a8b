"""How 0.7.0 reduces the actions that 0.8.0 reduces otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import updated
from agenthost.protocol.status import INPUT_NEEDED, with_activity
from agenthost.protocol.versions.node_edits import Json
from agenthost.protocol.versions.v0_8_0_to_v0_7_0.enablement import with_named

if TYPE_CHECKING:
    from agenthost.protocol.reducer_registry import Reducer
    from agenthost.protocol.versions.step import ReducerTable


def older_reducers(newer: ReducerTable) -> ReducerTable:
    """Return the reducers of 0.7.0 that differ from ``newer``."""
    asked, answered = "session/inputNeededSet", "session/inputNeededRemoved"
    return {
        "session/customizationToggled": _toggled,
        asked: _input_needed_set(newer[asked]),
        answered: _input_needed_removed(newer[answered]),
    }


def waiting_for_anything(session: Json) -> Json:
    """Return a session that needs input also where it waits for nothing but clients' tools."""
    waiting = session.get("inputNeeded")
    if not waiting or any(entry["kind"] != "toolClientExecution" for entry in waiting):
        return session
    return updated(session, status=with_activity(session["status"], INPUT_NEEDED))


def _toggled(state: Json, action: Json, now: str) -> Json:
    """Switch an entry on or off, whatever its type."""
    return with_named(state, action["id"], lambda entry: {**entry, "enabled": action["enabled"]})


def _input_needed_set(newer: Reducer) -> Reducer:
    """List something that blocks; the session then needs input, whatever it waits for."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        return waiting_for_anything(newer(state, action, now))

    return reduce


def _input_needed_removed(newer: Reducer) -> Reducer:
    """Unlist what no longer blocks; while anything is left the session needs input."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        after: Json = newer(state, action, now)
        return state if after is state else waiting_for_anything(after)

    return reduce
