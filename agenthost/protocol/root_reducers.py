"""Reducers of the root; the types are in ``root``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import copied_members, updated
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.root import (
        RootActiveSessionsChangedAction,
        RootAgentsChangedAction,
        RootConfigChangedAction,
        RootState,
        RootTerminalsChangedAction,
    )


@reduces("root/agentsChanged")
def agents_changed(state: RootState, action: RootAgentsChangedAction, now: str) -> RootState:
    """Replace the agents."""
    return copied_members(state, action, "agents")


@reduces("root/activeSessionsChanged")
def active_sessions_changed(
    state: RootState, action: RootActiveSessionsChangedAction, now: str
) -> RootState:
    """Replace the number of active sessions."""
    return copied_members(state, action, "activeSessions")


@reduces("root/terminalsChanged")
def terminals_changed(state: RootState, action: RootTerminalsChangedAction, now: str) -> RootState:
    """Replace the terminals."""
    return copied_members(state, action, "terminals")


@reduces("root/configChanged", client=True, touches=("config",))
def config_changed(state: RootState, action: RootConfigChangedAction, now: str) -> RootState:
    """Merge the settings into the values, or put them in their place; a host may have none."""
    config = state.get("config")
    if config is None:
        return state
    given = action["config"]
    values = given if action.get("replace") else {**config["values"], **given}
    return updated(state, config={**config, "values": values})
