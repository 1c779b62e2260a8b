"""Rules for what clients dispatch on a session: active clients, directories, customizations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agenthost.host.channels.rule_context import RuleContext

State = Mapping[str, Any]
Action = Mapping[str, Any]


def _active_client_set(state: State, action: Action, context: RuleContext) -> str | None:
    if action["activeClient"]["clientId"] != context.client_id:
        return "a client may only announce itself"
    return None


def _active_client_removed(state: State, action: Action, context: RuleContext) -> str | None:
    if action["clientId"] != context.client_id:
        return "a client may only withdraw itself"
    return None


def _directory_set(state: State, action: Action, context: RuleContext) -> str | None:
    if context.capabilities.get("multipleWorkingDirectories") is None:
        return "the agent does not support changing working directories"
    return None


def _directory_removed(state: State, action: Action, context: RuleContext) -> str | None:
    capability = context.capabilities.get("multipleWorkingDirectories")
    if capability is None:
        return "the agent does not support changing working directories"
    directories = state.get("workingDirectories") or ()
    if capability.get("immutablePrimary") and directories and directories[0] == action["directory"]:
        return "the first working directory cannot be removed"
    return None


def _entries(state: State) -> Iterator[Mapping[str, Any]]:
    for customization in state.get("customizations") or ():
        yield customization
        yield from customization.get("children") or ()


def _known_customization(state: State, action: Action, context: RuleContext) -> str | None:
    if any(entry["id"] == action["id"] for entry in _entries(state)):
        return None
    return f"there is no customization {action['id']}"


def _known_mcp_server(state: State, action: Action, context: RuleContext) -> str | None:
    for entry in _entries(state):
        if entry["id"] == action["id"] and entry.get("type") == "mcpServer":
            return None
    return f"there is no MCP server {action['id']}"


RULES: dict[str, Callable[[State, Action, RuleContext], str | None]] = {
    "session/activeClientSet": _active_client_set,
    "session/activeClientRemoved": _active_client_removed,
    "session/workingDirectorySet": _directory_set,
    "session/workingDirectoryRemoved": _directory_removed,
    "session/customizationToggled": _known_customization,
    "session/mcpServerStartRequested": _known_mcp_server,
    "session/mcpServerStopRequested": _known_mcp_server,
}
