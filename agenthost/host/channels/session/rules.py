"""Rules for what clients dispatch on a session: active clients, directories, customizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from agenthost.host.channels.rule_context import RuleContext, Rules
    from agenthost.protocol.common import Action
    from agenthost.protocol.session.customizations import ChildCustomization, Customization
    from agenthost.protocol.session.state import SessionState


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


def _known_customization(state: SessionState, action: Action, context: RuleContext) -> str | None:
    if any(entry["id"] == action["id"] for entry in _entries(state)):
        return None
    return f"there is no customization {action['id']}"


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
    "session/customizationToggled": _known_customization,
    "session/mcpServerStartRequested": _known_mcp_server,
    "session/mcpServerStopRequested": _known_mcp_server,
    "session/mcpServerBackgroundRequested": _known_mcp_server,
}
