"""Reducers of the chat channel for its own small fields, beside the turns.

Its activity and folders, work in the background, changesets and canvases, whether it may be moved,
and whether somebody has read or archived it. The transcript is ``turn_reducers``' affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.protocol.json_edits import (
    copied_members,
    remove_by,
    replaced_list,
    updated,
    upsert_by,
    with_item,
    without_item,
)
from agenthost.protocol.reducer_registry import reduces
from agenthost.protocol.status import IS_ARCHIVED, IS_READ, with_flag

if TYPE_CHECKING:
    from agenthost.protocol.chat.actions import (
        ChatActivityChangedAction,
        ChatBackgroundWorkRemovedAction,
        ChatBackgroundWorkSetAction,
        ChatCanvasesChangedAction,
        ChatChangesetsChangedAction,
        ChatIsArchivedChangedAction,
        ChatIsReadChangedAction,
        ChatMovableChangedAction,
        ChatWorkingDirectoryRemovedAction,
        ChatWorkingDirectorySetAction,
    )
    from agenthost.protocol.chat.state import ChatState


@reduces("chat/activityChanged")
def activity_changed(state: ChatState, action: ChatActivityChangedAction, now: str) -> ChatState:
    """Say what the chat is doing; an absent activity clears it."""
    return copied_members(state, action, "activity")


@reduces("chat/workingDirectorySet", client=True, touches=("workingDirectories",))
def working_directory_set(
    state: ChatState, action: ChatWorkingDirectorySetAction, now: str
) -> ChatState:
    """Give the chat a folder; one that inherited all of the session's then has this one only."""
    return with_item(state, "workingDirectories", action["directory"])


@reduces("chat/workingDirectoryRemoved", client=True, touches=("workingDirectories",))
def working_directory_removed(
    state: ChatState, action: ChatWorkingDirectoryRemovedAction, now: str
) -> ChatState:
    """Take a folder from the chat; the emptied set stays, and means none rather than all."""
    return without_item(state, "workingDirectories", action["directory"])


@reduces("chat/backgroundWorkSet", touches=("backgroundWork",))
def background_work_set(
    state: ChatState, action: ChatBackgroundWorkSetAction, now: str
) -> ChatState:
    """List work in the background, or replace its entry whole and in place."""
    return updated(
        state, backgroundWork=upsert_by(state.get("backgroundWork"), "id", action["work"])
    )


@reduces("chat/backgroundWorkRemoved", touches=("backgroundWork",))
def background_work_removed(
    state: ChatState, action: ChatBackgroundWorkRemovedAction, now: str
) -> ChatState:
    """Unlist work that ended; the emptied list stays."""
    left = remove_by(state.get("backgroundWork"), "id", action["id"])
    return state if left is None else {**state, "backgroundWork": left}


@reduces("chat/movableChanged", touches=("movable",))
def movable_changed(state: ChatState, action: ChatMovableChangedAction, now: str) -> ChatState:
    """Say whether the chat may be moved."""
    return updated(state, movable=action["movable"])


@reduces("chat/changesetsChanged", touches=("changesets",))
def changesets_changed(
    state: ChatState, action: ChatChangesetsChangedAction, now: str
) -> ChatState:
    """Replace the chat's changesets; none given removes the list, an empty one is kept as empty."""
    return replaced_list(state, "changesets", action.get("changesets"))


@reduces("chat/canvasesChanged", touches=("canvases",))
def canvases_changed(state: ChatState, action: ChatCanvasesChangedAction, now: str) -> ChatState:
    """Replace the chat's canvases; none given removes the list, an empty one is kept as empty."""
    return replaced_list(state, "canvases", action.get("canvases"))


@reduces("chat/isReadChanged", client=True, touches=("status",))
def is_read_changed(state: ChatState, action: ChatIsReadChangedAction, now: str) -> ChatState:
    """Mark the chat as read or unread."""
    return updated(state, status=with_flag(state["status"], IS_READ, action["isRead"]))


@reduces("chat/isArchivedChanged", client=True, touches=("status",))
def is_archived_changed(
    state: ChatState, action: ChatIsArchivedChangedAction, now: str
) -> ChatState:
    """Put the chat into the archive or take it out."""
    return updated(state, status=with_flag(state["status"], IS_ARCHIVED, action["isArchived"]))
