"""The changeset channel: the files that a session, a turn or a branch changed.

State and actions; the reducers are in ``changeset_reducers``. How changes are found and operations
carried out is the workspace's and the host's affair.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import ErrorInfo, FileEdit, JsonObject, StringOrMarkdown
from agenthost.protocol.schema.scalars import OpenWord
from agenthost.protocol.schema.unions import Open

ChangesetStatus: TypeAlias = Annotated[
    Literal["computing", "recomputing", "ready", "error"], OpenWord()
]
ChangesetOperationScope: TypeAlias = Annotated[
    Literal["changeset", "resource", "range"], OpenWord()
]
ChangesetOperationStatus: TypeAlias = Annotated[
    Literal["idle", "running", "error", "disabled"], OpenWord()
]


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
    """All files were computed anew; absent ``operations`` stay, and so does an error."""

    type: Literal["changeset/contentChanged"]
    files: list[ChangesetFile]
    operations: NotRequired[list[ChangesetOperation]]


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
