"""The changeset channel: the files that a session, a turn or a branch changed.

State, actions and reducers. How changes are found and operations carried out is the workspace's
and the host's affair.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias, TypeVar

from typing_extensions import TypedDict

from agenthost.protocol.common import ErrorInfo, FileEdit, JsonObject, StringOrMarkdown
from agenthost.protocol.registry import reduces
from agenthost.protocol.structure import (
    carry_given,
    index_by,
    mirrored,
    remove_by,
    replace_at,
    updated,
    upsert_by,
)
from agenthost.protocol.unions import Open

__all__ = [
    "Changeset",
    "ChangesetAction",
    "ChangesetCapabilities",
    "ChangesetClearedAction",
    "ChangesetContentChangedAction",
    "ChangesetFile",
    "ChangesetFileRemovedAction",
    "ChangesetFileSetAction",
    "ChangesetFilesReviewChangedAction",
    "ChangesetOperation",
    "ChangesetOperationScope",
    "ChangesetOperationStatus",
    "ChangesetOperationStatusChangedAction",
    "ChangesetOperationsChangedAction",
    "ChangesetState",
    "ChangesetStatus",
    "ChangesetStatusChangedAction",
    "cleared",
    "content_changed",
    "file_removed",
    "file_set",
    "files_review_changed",
    "operation_status_changed",
    "operations_changed",
    "status_changed",
]

ChangesetStatus: TypeAlias = Literal["computing", "ready", "error"]
ChangesetOperationScope: TypeAlias = Literal["changeset", "resource", "range"]
ChangesetOperationStatus: TypeAlias = Literal["idle", "running", "error", "disabled"]


class ChangesetCapabilities(TypedDict):
    """What may be done with a changeset; a present key means yes."""

    review: NotRequired[JsonObject]


class Changeset(TypedDict):
    """A changeset as its session advertises it."""

    label: str
    uriTemplate: str
    description: NotRequired[str]
    changeKind: str
    capabilities: NotRequired[ChangesetCapabilities]


class ChangesetFile(TypedDict):
    """One changed file; without ``reviewed`` nobody has looked at it."""

    id: str
    edit: FileEdit
    reviewed: NotRequired[bool]
    _meta: NotRequired[JsonObject]


class ChangesetOperation(TypedDict):
    """Something that can be done to a changeset, a file of it or a range."""

    id: str
    label: str
    description: NotRequired[str]
    scopes: list[ChangesetOperationScope]
    confirmation: NotRequired[StringOrMarkdown]
    icon: NotRequired[str]
    group: NotRequired[str]
    status: ChangesetOperationStatus
    error: NotRequired[ErrorInfo]


class ChangesetState(TypedDict):
    """A changeset's files and operations, and how far their computation is."""

    status: ChangesetStatus
    error: NotRequired[ErrorInfo]
    files: list[ChangesetFile]
    operations: NotRequired[list[ChangesetOperation]]


class ChangesetStatusChangedAction(TypedDict):
    """The computation got somewhere."""

    type: Literal["changeset/statusChanged"]
    status: ChangesetStatus
    error: NotRequired[ErrorInfo]


class ChangesetFileSetAction(TypedDict):
    """A file is added, or replaced whole."""

    type: Literal["changeset/fileSet"]
    file: ChangesetFile


class ChangesetFileRemovedAction(TypedDict):
    """A file is no longer changed."""

    type: Literal["changeset/fileRemoved"]
    fileId: str


class ChangesetFilesReviewChangedAction(TypedDict):
    """Files were marked as reviewed or not."""

    type: Literal["changeset/filesReviewChanged"]
    files: list[str]
    reviewed: bool


class ChangesetContentChangedAction(TypedDict):
    """All files were computed anew; absent ``operations`` stay, an absent ``error`` goes."""

    type: Literal["changeset/contentChanged"]
    files: list[ChangesetFile]
    operations: NotRequired[list[ChangesetOperation]]
    error: NotRequired[ErrorInfo]


class ChangesetOperationsChangedAction(TypedDict):
    """Other operations are available; none when absent."""

    type: Literal["changeset/operationsChanged"]
    operations: NotRequired[list[ChangesetOperation]]


class ChangesetOperationStatusChangedAction(TypedDict):
    """An operation starts, ends or fails."""

    type: Literal["changeset/operationStatusChanged"]
    operationId: str
    status: ChangesetOperationStatus
    error: NotRequired[ErrorInfo]


class ChangesetClearedAction(TypedDict):
    """There are no changes any more."""

    type: Literal["changeset/cleared"]


ChangesetAction: TypeAlias = Annotated[
    ChangesetStatusChangedAction
    | ChangesetFileSetAction
    | ChangesetFileRemovedAction
    | ChangesetFilesReviewChangedAction
    | ChangesetContentChangedAction
    | ChangesetOperationsChangedAction
    | ChangesetOperationStatusChangedAction
    | ChangesetClearedAction,
    Open("type"),
]


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
    """Replace the files, the operations if given, and the error even if not given."""
    replaced = updated(state, files=action["files"], **carry_given(action, "operations"))
    return mirrored(replaced, action, "error")


@reduces("changeset/operationsChanged")
def operations_changed(
    state: ChangesetState, action: ChangesetOperationsChangedAction, now: str
) -> ChangesetState:
    """Replace the operations; absent, there are none."""
    return mirrored(state, action, "operations")


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


_Holder = TypeVar("_Holder", ChangesetState, ChangesetOperation)


def _with_status(
    holder: _Holder,
    action: ChangesetStatusChangedAction | ChangesetOperationStatusChangedAction,
) -> _Holder:
    told: object = action if action["status"] == "error" else {}
    return mirrored(updated(holder, status=action["status"]), told, "error")
