"""The step between 0.5.2 and 0.5.1.

Towards 0.5.1: resolved input requests leave no trace, terminal outcomes are not told, and a child
customization cannot be switched off, so one that is off is not shown at all. The other way nothing
needs to change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import index_by, without
from agenthost.protocol.versions.node_edits import Json, dropping, each, inside
from agenthost.protocol.versions.node_walks import walk_action
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import DownContext, ReducerTable, Step

if TYPE_CHECKING:
    from agenthost.protocol.reducer_registry import Reducer


class _Down(Rewriter):
    def contents(self, contents: list[Json], title: str | None) -> list[Json]:
        told: list[Json] = each(contents, _unless_outcome)
        return told

    def part(self, part: Json) -> Json | None:
        return None if part.get("kind") == "inputRequest" else part

    def customization(self, customization: Json) -> Json:
        return without(customization, "_meta", "version")

    def child(self, child: Json) -> Json | None:
        match child.get("type"):
            case "mcpServer":
                return without(child, "_meta")
            case "agent":
                older = without(child, "enabled", "disableModelInvocation", "disableUserInvocation")
            case _:
                older = without(child, "enabled", "disableUserInvocation", "_meta")
        # To an old client every child is active, so one that is not is best unseen.
        return None if child.get("enabled") is False else older

    def changeset_file(self, file: Json) -> Json:
        return without(file, "reviewed")


def _unless_outcome(block: Json) -> Json | None:
    return None if block.get("type") == "terminalComplete" else block


def _start_requested_down(action: Json, context: DownContext) -> list[Json]:
    return _requested_down(action, context, "starting")


def _stop_requested_down(action: Json, context: DownContext) -> list[Json]:
    return _requested_down(action, context, "stopped")


def _requested_down(action: Json, context: DownContext, kind: str) -> list[Json]:
    """Say what a request to start or stop a server does to its state; only a host may."""
    if context.sender == "client":
        return []
    changed = {"type": "session/mcpServerStateChanged", "id": action["id"]}
    return [{**changed, "state": {"kind": kind}}]


def _toggled(newer: Reducer) -> Reducer:
    """Make the reducer of 0.5.1, which toggles top-level customizations only."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        found = index_by(state.get("customizations"), "id", action["id"])
        return state if found is None else newer(state, action, now)

    return reduce


def _input_completed(newer: Reducer) -> Reducer:
    """Make the reducer of 0.5.1, which forgets a request once it is answered."""

    def reduce(state: Json, action: Json, now: str) -> Json:
        after: Json = newer(state, action, now)
        return after if after is state else inside(after, "activeTurn", _without_requests)

    return reduce


def _without_requests(turn: Json) -> Json:
    return inside(turn, "responseParts", lambda parts: each(parts, _Down().part))


class Step052To051(Step):
    """Translates between 0.5.2 and 0.5.1."""

    newer = "0.5.2"
    older = "0.5.1"
    nodes_down = _Down()

    def __init__(self) -> None:
        self.actions_down = {
            "session/customizationToggled": self._toggled_down,
            "session/mcpServerStartRequested": _start_requested_down,
            "session/mcpServerStopRequested": _stop_requested_down,
        }
        self.commands_down = {"initialize": dropping("clientInfo")}
        self.results_down = {"initialize": dropping("serverInfo", "terminalCommandPrefix")}

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that 0.5.1 has other than ``newer``."""
        toggled, completed = "session/customizationToggled", "chat/inputCompleted"
        return {toggled: _toggled(newer[toggled]), completed: _input_completed(newer[completed])}

    def _toggled_down(self, action: Json, context: DownContext) -> list[Json]:
        customizations = context.after().get("customizations") or []
        if index_by(customizations, "id", action["id"]) is not None:
            return [action]
        if context.sender == "client":
            return []
        for container in customizations:
            # Old reducers toggle no child, so they get its container anew.
            if index_by(container.get("children"), "id", action["id"]) is not None:
                updated = {"type": "session/customizationUpdated", "customization": container}
                rewritten = walk_action(self.down(), updated)
                return [] if rewritten is None else [rewritten]
        return []
