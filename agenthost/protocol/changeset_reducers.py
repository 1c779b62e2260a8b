"""Reducers of changesets; the types are in ``changeset``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from agenthost.protocol.json_edits import (
    carry_given,
    copied_members,
    index_by,
    remove_by,
    replace_at,
    updated,
    upsert_by,
)
from agenthost.protocol.reducer_registry import reduces

if TYPE_CHECKING:
    from agenthost.protocol.changeset import (
        ChangesetClearedAction,
        ChangesetContentChangedAction,
        ChangesetFile,
        ChangesetFileRemovedAction,
        ChangesetFileSetAction,
        ChangesetFilesReviewChangedAction,
        ChangesetOperation,
        ChangesetOperationsChangedAction,
        ChangesetOperationStatusChangedAction,
        ChangesetState,
        ChangesetStatusChangedAction,
    )


@reduces("changeset/statusChanged")
def status_changed(
    state: ChangesetState, action: ChangesetStatusChangedAction, now: str
) -> ChangesetState:
    """Set the status; an error survives only in the status that says so."""
    return _with_status(state, action)


@reduces("changeset/fileSet")
def file_set(state: ChangesetState, action: ChangesetFileSetAction, now: str) -> ChangesetState:
    """Replace the file of that id in place, or append a new one."""
    return updated(state, files=upsert_by(state["files"], "id", action["file"]))


@reduces("changeset/fileRemoved")
def file_removed(
    state: ChangesetState, action: ChangesetFileRemovedAction, now: str
) -> ChangesetState:
    """Drop the file of that id."""
    files = remove_by(state["files"], "id", action["fileId"])
    return state if files is None else {**state, "files": files}


@reduces("changeset/filesReviewChanged", client=True)
def files_review_changed(
    state: ChangesetState, action: ChangesetFilesReviewChangedAction, now: str
) -> ChangesetState:
    """Set the mark on the listed files that exist; an absent mark differs from false."""
    listed, reviewed = set(action["files"]), action["reviewed"]

    def marked(file: ChangesetFile) -> ChangesetFile:
        if file["id"] not in listed or file.get("reviewed") is reviewed:
            return file
        return {**file, "reviewed": reviewed}

    return updated(state, files=[marked(file) for file in state["files"]])


@reduces("changeset/contentChanged")
def content_changed(
    state: ChangesetState, action: ChangesetContentChangedAction, now: str
) -> ChangesetState:
    """Replace the files, and the operations if given; an error is the status' affair."""
    return updated(state, files=action["files"], **carry_given(action, "operations"))


@reduces("changeset/operationsChanged")
def operations_changed(
    state: ChangesetState, action: ChangesetOperationsChangedAction, now: str
) -> ChangesetState:
    """Replace the operations; absent, there are none."""
    return copied_members(state, action, "operations")


@reduces("changeset/operationStatusChanged")
def operation_status_changed(
    state: ChangesetState, action: ChangesetOperationStatusChangedAction, now: str
) -> ChangesetState:
    """Set one operation's status; an error survives only in the status that says so."""
    operations = state.get("operations")
    index = index_by(operations, "id", action["operationId"])
    if operations is None or index is None:
        return state
    after = _with_status(operations[index], action)
    if after is operations[index]:
        return state
    return {**state, "operations": replace_at(operations, index, after)}


@reduces("changeset/cleared")
def cleared(state: ChangesetState, action: ChangesetClearedAction, now: str) -> ChangesetState:
    """Drop all files."""
    return {**state, "files": []} if state["files"] else state


_Holder = TypeVar("_Holder", "ChangesetState", "ChangesetOperation")


def _with_status(
    holder: _Holder,
    action: ChangesetStatusChangedAction | ChangesetOperationStatusChangedAction,
) -> _Holder:
    told: object = action if action["status"] == "error" else {}
    return copied_members(updated(holder, status=action["status"]), told, "error")
