"""Reducers of the session channel for customizations and the MCP servers among them.

Customizations form a tree of two levels: plugins, directories and bare MCP servers on top, leaves
inside the first two. An id names an entry on either level; the top level is looked up first. Knows
nothing of loading, starting or stopping anything; the host does that and reports it as actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from agenthost.protocol.json_edits import (
    carry_given,
    copied_members,
    index_by,
    remove_by,
    replace_at,
    updated,
    upsert_by,
    without,
)
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.session.actions import (
        SessionCustomizationRemovedAction,
        SessionCustomizationsChangedAction,
        SessionCustomizationToggledAction,
        SessionCustomizationUpdatedAction,
        SessionMcpServerBackgroundRequestedAction,
        SessionMcpServerStartRequestedAction,
        SessionMcpServerStateChangedAction,
        SessionMcpServerStopRequestedAction,
    )
    from agenthost.protocol.session.state import SessionState

# An entry of either level. The two levels are unions of many shapes that share ``id`` and ``type``.
Entry = dict[str, Any]
Edit = Callable[[Entry], Entry]

_KEEPING_DECISIONS = frozenset({"plugin", "mcpServer"})


@reduces("session/customizationsChanged")
def customizations_changed(
    state: SessionState, action: SessionCustomizationsChangedAction, now: str
) -> SessionState:
    """Replace the whole tree."""
    return updated(state, customizations=action["customizations"])


@reduces("session/customizationToggled", client=True, touches=("customizations",))
def customization_toggled(
    state: SessionState, action: SessionCustomizationToggledAction, now: str
) -> SessionState:
    """Enable or disable an entry: the top-level one of that id, else the first child.

    Plugins and servers keep the decisions as they were given; the others only what they come to.
    """
    decisions = carry_given(action, "enablement").get("enablement")
    if decisions is None:
        # A peer that decides nothing changes nothing; only an empty list takes decisions back.
        return state

    def toggle(entry: Entry) -> Entry:
        if entry["type"] in _KEEPING_DECISIONS:
            return {**entry, "enablement": decisions} if decisions else without(entry, "enablement")
        return {**entry, "enabled": decisions[0]["enabled"] if decisions else True}

    return _edited(state, action["id"], toggle, first_child_only=True)


@reduces("session/customizationUpdated")
def customization_updated(
    state: SessionState, action: SessionCustomizationUpdatedAction, now: str
) -> SessionState:
    """Add a top-level entry, or replace it whole, children included."""
    entries = upsert_by(state.get("customizations"), "id", action["customization"])
    return updated(state, customizations=entries)


@reduces("session/customizationRemoved")
def customization_removed(
    state: SessionState, action: SessionCustomizationRemovedAction, now: str
) -> SessionState:
    """Remove a top-level entry with its children, else the child of that id."""
    entries = _entries(state)
    kept = remove_by(entries, "id", action["id"])
    if kept is None:
        kept = [_without_child(entry, action["id"]) for entry in entries]
    return _with_entries(state, kept)


@reduces("session/mcpServerStateChanged")
def mcp_server_state_changed(
    state: SessionState, action: SessionMcpServerStateChangedAction, now: str
) -> SessionState:
    """Report an MCP server's state and its side channel; an absent channel is gone."""
    return _reported(state, action["id"], action)


@reduces("session/mcpServerStartRequested", client=True, touches=("customizations",))
def mcp_server_start_requested(
    state: SessionState, action: SessionMcpServerStartRequestedAction, now: str
) -> SessionState:
    """Show an MCP server as starting until the host reports what became of it."""
    return _reported(state, action["id"], {"state": {"kind": "starting"}})


@reduces("session/mcpServerStopRequested", client=True, touches=("customizations",))
def mcp_server_stop_requested(
    state: SessionState, action: SessionMcpServerStopRequestedAction, now: str
) -> SessionState:
    """Show an MCP server as stopped until the host reports otherwise."""
    return _reported(state, action["id"], {"state": {"kind": "stopped"}})


@reduces("session/mcpServerBackgroundRequested", client=True, touches=("customizations",))
def mcp_server_background_requested(
    state: SessionState, action: SessionMcpServerBackgroundRequestedAction, now: str
) -> SessionState:
    """Wait no longer for an MCP server that holds the session up while it starts."""

    def edit(entry: Entry) -> Entry:
        server = (entry.get("state") or {}) if entry["type"] == "mcpServer" else {}
        if server.get("kind") != "starting" or server.get("blocking") is not True:
            return entry
        return {**entry, "state": {**server, "blocking": False}}

    return _edited(state, action["id"], edit, first_child_only=True)


def _reported(state: SessionState, server_id: str, report: object) -> SessionState:
    """Make a server say what the report says; an entry of another type stays as it is."""

    def edit(entry: Entry) -> Entry:
        is_server = entry["type"] == "mcpServer"
        return copied_members(entry, report, "state", "channel") if is_server else entry

    return _edited(state, server_id, edit)


def _edited(
    state: SessionState, entry_id: str, edit: Edit, *, first_child_only: bool = False
) -> SessionState:
    entries = list(_entries(state))
    index = index_by(entries, "id", entry_id)
    if index is not None:
        entries[index] = edit(entries[index])
        return _with_entries(state, entries)
    for index, entry in enumerate(entries):
        children = _children(entry)
        at = index_by(children, "id", entry_id)
        if at is not None:
            entries[index] = {**entry, "children": replace_at(children, at, edit(children[at]))}
            if first_child_only:
                break
    return _with_entries(state, entries)


def _without_child(entry: Entry, child_id: str) -> Entry:
    children = remove_by(_children(entry), "id", child_id)
    return entry if children is None else {**entry, "children": children}


def _children(entry: Entry) -> list[Entry]:
    # Bare MCP servers are leaves, and a container that was not parsed yet has no list.
    return [] if entry["type"] == "mcpServer" else entry.get("children") or []


def _entries(state: SessionState) -> list[Entry]:
    return cast(list[Entry], state.get("customizations") or [])


def _with_entries(state: SessionState, entries: list[Entry]) -> SessionState:
    if state.get("customizations") is None:
        return state
    return updated(state, customizations=entries)
