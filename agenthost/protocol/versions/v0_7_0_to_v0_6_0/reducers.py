"""How 0.6.0 reduces the actions that 0.7.0 reduces otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import without
from agenthost.protocol.versions.node_edits import Json, edit_calls

if TYPE_CHECKING:
    from agenthost.protocol.reducer_registry import Reducer
    from agenthost.protocol.versions.step import ReducerTable


def older_reducers(newer: ReducerTable) -> ReducerTable:
    """Return the reducers of 0.6.0 that differ from ``newer``."""
    return {
        "chat/toolCallDelta": _delta(newer["chat/toolCallDelta"]),
        "chat/toolCallReady": _ready(newer["chat/toolCallReady"]),
        "chat/toolCallConfirmed": _confirmed(newer["chat/toolCallConfirmed"]),
    }


def _delta(newer: Reducer) -> Reducer:
    """Make the reducer of 0.6.0, which appends missing content as "undefined"."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        # What its reference implementation appends is the name of the missing value.
        told = {"content": "undefined", **action}
        return newer(state, told, now)  # type: ignore[no-any-return]

    return reduce


def _ready(newer: Reducer) -> Reducer:
    """Keep an omitted input only for a pending call that stays pending."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        def forget(call: Json) -> Json:
            stays = call["status"] == "pending-confirmation" and not action.get("confirmed")
            takes = call["status"] in ("running", "pending-confirmation")
            return without(call, "toolInput") if takes and not stays else call

        known = without(action, "contributor", "intention")
        return newer(edit_calls(state, action, forget), known, now)  # type: ignore[no-any-return]

    return reduce


def _confirmed(newer: Reducer) -> Reducer:
    """Store an edited input even where there was none."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        def make_room(call: Json) -> Json:
            pending = call["status"] == "pending-confirmation"
            return {**call, "toolInput": ""} if pending and "toolInput" not in call else call

        edits = action.get("approved") and action.get("editedToolInput") is not None
        roomy = edit_calls(state, action, make_room) if edits else state
        return newer(roomy, action, now)  # type: ignore[no-any-return]

    return reduce
