"""The step between 0.8.0 and 0.7.0.

Towards 0.7.0: the decisions whether a customization is on become one flag, a replaced working
directory is told in removals and additions, a session that waits for a client's tool needs input,
the resource that asks for a token is only named, and requests carry no metadata. The other way a
flag is taken for the decision of whoever may have set it.
"""

from __future__ import annotations

import re
from typing import Any, Final

from agenthost.protocol.json_edits import without
from agenthost.protocol.versions.node_edits import Json, inside
from agenthost.protocol.versions.rewriter import Rewriter
from agenthost.protocol.versions.step import DownContext, ReducerTable, Step, UpContext
from agenthost.protocol.versions.v0_8_0_to_v0_7_0.directories import replaced_down
from agenthost.protocol.versions.v0_8_0_to_v0_7_0.enablement import (
    decided_by_its_client,
    decided_for_the_session,
    toggled_down,
    toggled_up,
    with_flag_only,
)
from agenthost.protocol.versions.v0_8_0_to_v0_7_0.reducers import (
    older_reducers,
    waiting_for_anything,
)

_REPLACED: Final = "session/workingDirectoryReplaced"

# The list that an old flag has become, or the decision in it; not a plugin's ``childEnablement``.
_DECISIONS: Final = re.compile(r"\benablement(\[0\](\.enabled)?)?")


class _Down(Rewriter):
    def customization(self, customization: Json) -> Json:
        return with_flag_only(customization)

    def child(self, child: Json) -> Json | None:
        return with_flag_only(child)

    def session(self, state: Json) -> Json:
        return waiting_for_anything(state)

    def agent(self, agent: Json) -> Json:
        return inside(agent, "capabilities", _capabilities_down)


class _Up(Rewriter):
    def customization(self, customization: Json) -> Json:
        return decided_for_the_session(customization)

    def child(self, child: Json) -> Json | None:
        return decided_for_the_session(child)

    def client_plugin(self, customization: Json) -> Json:
        return decided_by_its_client(customization)

    def client_plugin_child(self, child: Json) -> Json | None:
        return decided_by_its_client(child)


def _capabilities_down(capabilities: Any) -> Any:
    if not isinstance(capabilities, dict):
        return capabilities
    return inside(capabilities, "multipleWorkingDirectories", _directories_capability_down)


def _directories_capability_down(capability: Any) -> Any:
    if not isinstance(capability, dict) or "primaryReplacement" not in capability:
        return capability
    older = without(capability, "primaryReplacement")
    # The first directory can be replaced and not be removed: all that an old client could do.
    return {**older, "immutablePrimary": True} if capability["primaryReplacement"] else older


def _replaced_down(action: Json, context: DownContext) -> list[Json]:
    return replaced_down(action, context.before().get("workingDirectories") or [])


def _toggled_down(action: Json, context: DownContext) -> list[Json]:
    return [toggled_down(action)]


def _toggled_up(action: Json, context: UpContext) -> Json:
    return toggled_up(action, context.before())


def _auth_required_down(params: Json) -> Json:
    def named(resource: Any) -> Any:
        return resource.get("resource") if isinstance(resource, dict) else resource

    return inside(params, "resource", named)


def _auth_required_up(params: Json) -> Json:
    def described(resource: Any) -> Any:
        return {"resource": resource} if isinstance(resource, str) else resource

    return inside(params, "resource", described)


class Step080To070(Step):
    """Translates between 0.8.0 and 0.7.0."""

    newer = "0.8.0"
    older = "0.7.0"
    nodes_down = _Down()
    nodes_up = _Up()

    def __init__(self) -> None:
        self.actions_down = {
            _REPLACED: _replaced_down,
            "session/customizationToggled": _toggled_down,
        }
        self.actions_up = {"session/customizationToggled": _toggled_up}
        self.notifications_down = {"auth/required": _auth_required_down}
        self.notifications_up = {"auth/required": _auth_required_up}

    def reducers(self, newer: ReducerTable) -> ReducerTable:
        """Return the reducers that 0.7.0 has other than ``newer``."""
        return older_reducers(newer)

    def extra_actions(self, action: Json, before: Json, after: Json) -> int:
        """Say how many more actions are needed: those that tell of a replaced directory."""
        if action["type"] != _REPLACED or after is before:
            return 0
        return len(replaced_down(action, before.get("workingDirectories") or [])) - 1

    def params_down(self, method: str, params: Any) -> Any:
        """Translate a command's params DOWN: no request of 0.7.0 has metadata."""
        older = super().params_down(method, params)
        return without(older, "_meta") if isinstance(older, dict) else older

    def path_down(self, path: str) -> str:
        """Translate the path of a field DOWN: of the decisions an old client knows one flag."""
        return _DECISIONS.sub("enabled", path)
