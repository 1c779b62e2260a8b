"""Rules for what clients dispatch on a session: active clients, directories, customizations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from agenthost.errors import shortened
from agenthost.host.channels.session.shown_customizations import find_customization

if TYPE_CHECKING:
    from agenthost.host.channels.rule_context import RuleContext, Rules
    from agenthost.protocol.common import Action
    from agenthost.protocol.session.customizations import (
        ChildCustomization,
        Customization,
        CustomizationEnablement,
    )
    from agenthost.protocol.session.state import SessionState


# Where a decision about a customization holds; the one that counts first.
_SCOPES = ("session", "workspace", "global")
# Types of which clients see what was decided in which scope; of others only what that comes to.
_TELLS_SCOPES = frozenset({"plugin", "mcpServer"})


def _active_client_set(state: SessionState, action: Action, context: RuleContext) -> str | None:
    if action["activeClient"]["clientId"] != context.client_id:
        return "a client may only announce itself"
    return None


def _active_client_removed(state: SessionState, action: Action, context: RuleContext) -> str | None:
    if action["clientId"] != context.client_id:
        return "a client may only withdraw itself"
    return None


def _directory_set(state: SessionState, action: Action, context: RuleContext) -> str | None:
    if context.capabilities.get("multipleWorkingDirectories") is None:
        return "the agent does not support changing working directories"
    return None


def _directory_removed(state: SessionState, action: Action, context: RuleContext) -> str | None:
    capability = context.capabilities.get("multipleWorkingDirectories")
    if capability is None:
        return "the agent does not support changing working directories"
    if _is_primary(state, action):
        if capability.get("primaryReplacement"):
            return "the first working directory can only be replaced"
        if capability.get("immutablePrimary"):
            return "the first working directory cannot be removed"
    return None


def _directory_replaced(state: SessionState, action: Action, context: RuleContext) -> str | None:
    capability = context.capabilities.get("multipleWorkingDirectories")
    if capability is None:
        return "the agent does not support changing working directories"
    if action["directory"] not in (state.get("workingDirectories") or ()):
        return "the session has no such working directory"
    if _is_primary(state, action) and not capability.get("primaryReplacement"):
        return "the first working directory cannot be replaced"
    return None


def _is_primary(state: SessionState, action: Action) -> bool:
    directories = state.get("workingDirectories")
    return bool(directories and directories[0] == action["directory"])


def _entries(state: SessionState) -> Iterator[Customization | ChildCustomization]:
    for customization in state.get("customizations") or ():
        yield customization
        # Not all have children, and what is not known here may.
        children = cast("list[ChildCustomization] | None", customization.get("children"))
        yield from children or ()


def decisions_in_order(
    decisions: Iterable[CustomizationEnablement],
) -> list[CustomizationEnablement]:
    """Return decisions with the one first that counts before the others."""
    return sorted(decisions, key=lambda each: _SCOPES.index(each["kind"]))


def decides_for_others(state: SessionState, action: Action, context: RuleContext) -> str | None:
    """Return why somebody who is no owner may not decide what holds in other sessions too."""
    found = find_customization(state, action["id"])
    if found is None:
        return None
    entry, publisher = found
    before, after = _by_scope(entry.get("enablement")), _by_scope(action["enablement"])
    if not after and entry["type"] not in _TELLS_SCOPES:
        # Nobody sees where it was decided, so all that was is taken back.
        return "only an owner takes back what may be decided elsewhere; decide for this session"
    for scope in ("workspace", "global"):
        if scope == "global" and publisher == context.client_id:
            # What it brings itself, it decides on everywhere.
            continue
        if before.get(scope) != after.get(scope):
            return "only an owner decides what is on in other sessions; decide for this session"
    return None


def _by_scope(decisions: Iterable[CustomizationEnablement] | None) -> dict[str, bool]:
    return {each["kind"]: each["enabled"] for each in decisions or ()}


def _customization_toggled(state: SessionState, action: Action, context: RuleContext) -> str | None:
    found = find_customization(state, action["id"])
    if found is None:
        return f"there is no customization {shortened(action['id'])}"
    entry, publisher = found
    scopes = [each["kind"] for each in action["enablement"]]
    for scope in scopes:
        if scope not in _SCOPES:
            return f"nothing can be decided for {shortened(scope)}"
        if scopes.count(scope) > 1:
            return f"there are two decisions for the {scope} scope"
    first = next(iter(state.get("workingDirectories") or ()), None)
    for each in action["enablement"]:
        if each["kind"] == "workspace" and each["uri"] != first:
            here = f"the workspace of this session is {first}" if first else "it has no workspace"
            return f"{shortened(each['uri'])} is not where this session works: {here}"
    if publisher not in (None, context.client_id):
        before, after = _by_scope(entry.get("enablement")), _by_scope(action["enablement"])
        if before.get("global") != after.get("global"):
            return f"whether {shortened(entry['name'])} is on everywhere, its own client decides"
    return None


def _known_mcp_server(state: SessionState, action: Action, context: RuleContext) -> str | None:
    for entry in _entries(state):
        if entry["id"] == action["id"] and entry.get("type") == "mcpServer":
            return None
    return f"there is no MCP server {action['id']}"


RULES: Rules[SessionState] = {
    "session/activeClientSet": _active_client_set,
    "session/activeClientRemoved": _active_client_removed,
    "session/workingDirectorySet": _directory_set,
    "session/workingDirectoryRemoved": _directory_removed,
    "session/workingDirectoryReplaced": _directory_replaced,
    "session/customizationToggled": _customization_toggled,
    "session/mcpServerStartRequested": _known_mcp_server,
    "session/mcpServerStopRequested": _known_mcp_server,
    "session/mcpServerBackgroundRequested": _known_mcp_server,
}
