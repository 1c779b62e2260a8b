"""Reducers of the session channel: lifecycle, chat catalogue, metadata, clients, folders, prompts.

Pure functions on ``SessionState``, one per action. They enforce no policy and aggregate nothing:
what a client may do, and what a session's summary says, is the host's work. Customizations and MCP
servers are in ``customization_reducers``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import (
    copied_members,
    index_by,
    remove_by,
    replace_at,
    replaced_list,
    same_if_equal,
    updated,
    upsert_by,
    with_item,
    without,
    without_item,
)
from agenthost.protocol.reducer_registry import reduces
from agenthost.protocol.status import (
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_ARCHIVED,
    IS_READ,
    with_activity,
    with_flag,
)

if TYPE_CHECKING:
    from agenthost.protocol.session.actions import (
        SessionActiveClientRemovedAction,
        SessionActiveClientSetAction,
        SessionActivityChangedAction,
        SessionChangesetsChangedAction,
        SessionChatAddedAction,
        SessionChatRemovedAction,
        SessionChatsReorderedAction,
        SessionChatUpdatedAction,
        SessionConfigChangedAction,
        SessionCreationFailedAction,
        SessionDefaultChatChangedAction,
        SessionInputNeededRemovedAction,
        SessionInputNeededSetAction,
        SessionIsArchivedChangedAction,
        SessionIsReadChangedAction,
        SessionMetaChangedAction,
        SessionReadyAction,
        SessionServerToolsChangedAction,
        SessionTitleChangedAction,
        SessionWorkingDirectoryRemovedAction,
        SessionWorkingDirectoryReplacedAction,
        SessionWorkingDirectorySetAction,
    )
    from agenthost.protocol.session.state import SessionInputRequest, SessionState


@reduces("session/ready")
def ready(state: SessionState, action: SessionReadyAction, now: str) -> SessionState:
    """Make the session ready; its status stays, for a first turn may run already."""
    return updated(state, lifecycle="ready")


@reduces("session/creationFailed")
def creation_failed(
    state: SessionState, action: SessionCreationFailedAction, now: str
) -> SessionState:
    """Record that the session could not be created, and why."""
    return updated(state, lifecycle="failed", creationError=action["error"])


@reduces("session/chatAdded")
def chat_added(state: SessionState, action: SessionChatAddedAction, now: str) -> SessionState:
    """List a chat, or replace its entry whole and in place."""
    chats = upsert_by(state["chats"], "resource", action["summary"])
    return updated(state, chats=chats)


@reduces("session/chatRemoved")
def chat_removed(state: SessionState, action: SessionChatRemovedAction, now: str) -> SessionState:
    """Drop a chat's entry, and the default when it named that chat."""
    chats = remove_by(state["chats"], "resource", action["chat"])
    if chats is None:
        return state
    removed: SessionState = {**state, "chats": chats}
    if state.get("defaultChat") != action["chat"]:
        return removed
    return without(removed, "defaultChat")


@reduces("session/chatUpdated")
def chat_updated(state: SessionState, action: SessionChatUpdatedAction, now: str) -> SessionState:
    """Merge changes into a chat's entry; its identity cannot change and nothing can be cleared."""
    index = index_by(state["chats"], "resource", action["chat"])
    if index is None:
        return state
    entry = state["chats"][index]
    merged = updated(entry, **without(action["changes"], "resource"))
    return updated(state, chats=replace_at(state["chats"], index, merged))


@reduces("session/chatsReordered", touches=("chats",))
def chats_reordered(
    state: SessionState, action: SessionChatsReorderedAction, now: str
) -> SessionState:
    """Put the chats into the given order; one that does not name each of them once is ignored."""
    listed = {chat["resource"]: chat for chat in state["chats"]}
    if sorted(action["chats"]) != sorted(chat["resource"] for chat in state["chats"]):
        return state
    return updated(state, chats=[listed[resource] for resource in action["chats"]])


@reduces("session/defaultChatChanged")
def default_chat_changed(
    state: SessionState, action: SessionDefaultChatChangedAction, now: str
) -> SessionState:
    """Name the chat to show first; an absent one clears it."""
    return copied_members(state, action, "defaultChat")


@reduces("session/titleChanged", client=True, touches=("title",))
def title_changed(state: SessionState, action: SessionTitleChangedAction, now: str) -> SessionState:
    """Rename the session."""
    return updated(state, title=action["title"])


@reduces("session/isReadChanged", client=True, touches=("status",))
def is_read_changed(
    state: SessionState, action: SessionIsReadChangedAction, now: str
) -> SessionState:
    """Mark the session as read or unread."""
    status = with_flag(state["status"], IS_READ, action["isRead"])
    return updated(state, status=status)


@reduces("session/isArchivedChanged", client=True, touches=("status",))
def is_archived_changed(
    state: SessionState, action: SessionIsArchivedChangedAction, now: str
) -> SessionState:
    """Put the session into the archive or take it out."""
    status = with_flag(state["status"], IS_ARCHIVED, action["isArchived"])
    return updated(state, status=status)


@reduces("session/activityChanged")
def activity_changed(
    state: SessionState, action: SessionActivityChangedAction, now: str
) -> SessionState:
    """Say what the session is doing; an absent activity clears it."""
    return copied_members(state, action, "activity")


@reduces("session/changesetsChanged")
def changesets_changed(
    state: SessionState, action: SessionChangesetsChangedAction, now: str
) -> SessionState:
    """Replace the changeset catalogue; none given removes it, an empty one is kept as empty."""
    return replaced_list(state, "changesets", action.get("changesets"))


@reduces("session/configChanged", client=True, touches=("config",))
def config_changed(
    state: SessionState, action: SessionConfigChangedAction, now: str
) -> SessionState:
    """Merge configuration values, or replace them all; a session without a schema has none."""
    config = state.get("config")
    if config is None:
        return state
    kept = {} if action.get("replace") else config["values"]
    return updated(state, config={**config, "values": {**kept, **action["config"]}})


@reduces("session/metaChanged")
def meta_changed(state: SessionState, action: SessionMetaChangedAction, now: str) -> SessionState:
    """Replace the session's metadata whole; none given removes it."""
    return copied_members(state, action, "_meta")


@reduces("session/serverToolsChanged")
def server_tools_changed(
    state: SessionState, action: SessionServerToolsChangedAction, now: str
) -> SessionState:
    """Replace the list of the host's tools."""
    return updated(state, serverTools=action["tools"])


@reduces("session/activeClientSet", client=True, touches=("activeClients",))
def active_client_set(
    state: SessionState, action: SessionActiveClientSetAction, now: str
) -> SessionState:
    """Add an active client, or replace its entry whole."""
    clients = upsert_by(state["activeClients"], "clientId", action["activeClient"])
    return updated(state, activeClients=clients)


@reduces("session/activeClientRemoved", client=True, touches=("activeClients",))
def active_client_removed(
    state: SessionState, action: SessionActiveClientRemovedAction, now: str
) -> SessionState:
    """Remove an active client."""
    clients = remove_by(state["activeClients"], "clientId", action["clientId"])
    return state if clients is None else {**state, "activeClients": clients}


@reduces("session/workingDirectorySet", client=True, touches=("workingDirectories",))
def working_directory_set(
    state: SessionState, action: SessionWorkingDirectorySetAction, now: str
) -> SessionState:
    """Add a folder to the session's set, creating the set."""
    return with_item(state, "workingDirectories", action["directory"])


@reduces("session/workingDirectoryRemoved", client=True, touches=("workingDirectories",))
def working_directory_removed(
    state: SessionState, action: SessionWorkingDirectoryRemovedAction, now: str
) -> SessionState:
    """Take a folder out of the session's set; the emptied set stays, and means no folder."""
    return without_item(state, "workingDirectories", action["directory"])


@reduces("session/workingDirectoryReplaced", client=True, touches=("workingDirectories",))
def working_directory_replaced(
    state: SessionState, action: SessionWorkingDirectoryReplacedAction, now: str
) -> SessionState:
    """Put a folder in the place of another; one that stood earlier keeps its place instead."""
    folders = state.get("workingDirectories") or []
    if action["directory"] not in folders:
        return state
    at, replacement = folders.index(action["directory"]), action["replacement"]
    before, after = folders[:at], folders[at + 1 :]
    if replacement in before:
        return updated(state, workingDirectories=[*before, *after])
    behind = [folder for folder in after if folder != replacement]
    return updated(state, workingDirectories=[*before, replacement, *behind])


@reduces("session/inputNeededSet")
def input_needed_set(
    state: SessionState, action: SessionInputNeededSetAction, now: str
) -> SessionState:
    """List something that blocks on a person or a client."""
    waiting = upsert_by(state.get("inputNeeded"), "id", action["request"])
    return same_if_equal(state, _waiting(state, waiting))


# What tells INPUT_NEEDED from the IN_PROGRESS that it contains.
_ONLY_INPUT_NEEDED = INPUT_NEEDED & ~IN_PROGRESS


@reduces("session/inputNeededRemoved")
def input_needed_removed(
    state: SessionState, action: SessionInputNeededRemovedAction, now: str
) -> SessionState:
    """Unlist what no longer blocks."""
    waiting = remove_by(state.get("inputNeeded"), "id", action["id"])
    return state if waiting is None else _waiting(state, waiting)


def _waiting(state: SessionState, waiting: list[SessionInputRequest]) -> SessionState:
    """List what waits; the session needs input while any of it waits for a person.

    A client that is to run a tool is none. The last person gone leaves the session in progress, not
    idle.
    """
    if any(entry["kind"] != "toolClientExecution" for entry in waiting):
        status = with_activity(state["status"], INPUT_NEEDED)
    else:
        status = with_flag(state["status"], _ONLY_INPUT_NEEDED, False)
    listed: SessionState = {**state, "inputNeeded": waiting, "status": status}
    return listed if waiting else without(listed, "inputNeeded")
