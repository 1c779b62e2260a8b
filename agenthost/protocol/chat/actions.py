"""Everything that can happen on a chat channel.

Types only; the reducers beside this module say what each action does.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.canvas import CanvasReference
from agenthost.protocol.changeset import Changeset
from agenthost.protocol.chat.background_work import BackgroundWork
from agenthost.protocol.chat.input_state import (
    ChatInputAnswer,
    ChatInputRequest,
    ChatInputResponseKind,
)
from agenthost.protocol.chat.messages import Message, PendingMessageKind
from agenthost.protocol.chat.state import CompletedTurn, ErrorResponsePart, ResponsePart
from agenthost.protocol.chat.tool_state import (
    ConfirmationOption,
    ToolCallConfirmationReason,
    ToolCallContributor,
    ToolCallResult,
    ToolCallRiskAssessment,
    ToolInput,
    ToolResultContent,
)
from agenthost.protocol.common import FileEditCollection, JsonObject, StringOrMarkdown, UsageInfo
from agenthost.protocol.schema.scalars import URI, Number
from agenthost.protocol.schema.unions import Closed, Open
from agenthost.protocol.session.customizations import McpAuthRequirement


class ChatTurnStartedAction(TypedDict):
    """A turn begins, possibly with a message that was queued."""

    type: Literal["chat/turnStarted"]
    turnId: str
    startedAt: str
    message: Message
    queuedMessageId: NotRequired[str]
    _meta: NotRequired[JsonObject]


class ChatDeltaAction(TypedDict):
    """More text for a markdown part."""

    type: Literal["chat/delta"]
    turnId: str
    partId: str
    content: str
    _meta: NotRequired[JsonObject]


class ChatResponsePartAction(TypedDict):
    """A new part at the end of the answer."""

    type: Literal["chat/responsePart"]
    turnId: str
    part: ResponsePart
    _meta: NotRequired[JsonObject]


class ChatReasoningAction(TypedDict):
    """More text for a reasoning part."""

    type: Literal["chat/reasoning"]
    turnId: str
    partId: str
    content: str
    _meta: NotRequired[JsonObject]


class ChatUsageAction(TypedDict):
    """The turn's consumption so far."""

    type: Literal["chat/usage"]
    turnId: str
    usage: UsageInfo
    _meta: NotRequired[JsonObject]


class ChatTurnCompleteAction(TypedDict):
    """The turn ended well."""

    type: Literal["chat/turnComplete"]
    turnId: str
    duration: Number
    _meta: NotRequired[JsonObject]


class ChatTurnCancelledAction(TypedDict):
    """The turn was stopped."""

    type: Literal["chat/turnCancelled"]
    turnId: str
    duration: Number
    _meta: NotRequired[JsonObject]


class ChatErrorAction(TypedDict):
    """The turn failed; the part that says why becomes the last of the answer."""

    type: Literal["chat/error"]
    turnId: str
    duration: Number
    part: ErrorResponsePart
    _meta: NotRequired[JsonObject]


class ChatTurnResumeAction(TypedDict):
    """The last turn, which failed, is taken up again."""

    type: Literal["chat/turnResume"]
    turnId: str


class ToolCallActionBase(TypedDict):
    """What actions on one tool call share."""

    turnId: str
    toolCallId: str
    _meta: NotRequired[JsonObject]


class ChatToolCallStartAction(ToolCallActionBase):
    """A tool call appears; its parameters will follow."""

    type: Literal["chat/toolCallStart"]
    toolName: str
    displayName: str
    intention: NotRequired[str]
    contributor: NotRequired[ToolCallContributor]


class ChatToolCallDeltaAction(ToolCallActionBase):
    """More of a call's parameters."""

    type: Literal["chat/toolCallDelta"]
    content: NotRequired[str]
    invocationMessage: NotRequired[StringOrMarkdown]


class ChatToolCallReadyAction(ToolCallActionBase):
    """The parameters are complete; with ``confirmed`` the call runs, else it waits."""

    type: Literal["chat/toolCallReady"]
    contributor: NotRequired[ToolCallContributor]
    intention: NotRequired[str]
    invocationMessage: StringOrMarkdown
    toolInput: NotRequired[ToolInput]
    confirmationTitle: NotRequired[StringOrMarkdown]
    riskAssessment: NotRequired[ToolCallRiskAssessment]
    edits: NotRequired[FileEditCollection]
    editable: NotRequired[bool]
    confirmed: NotRequired[ToolCallConfirmationReason]
    options: NotRequired[list[ConfirmationOption]]


class ChatToolCallApprovedAction(ToolCallActionBase):
    """Somebody allowed the call, perhaps with other parameters."""

    type: Literal["chat/toolCallConfirmed"]
    approved: Literal[True]
    confirmed: ToolCallConfirmationReason
    editedToolInput: NotRequired[str]
    selectedOptionId: NotRequired[str]


class ChatToolCallDeniedAction(ToolCallActionBase):
    """Somebody refused the call, perhaps suggesting something else."""

    type: Literal["chat/toolCallConfirmed"]
    approved: Literal[False]
    reason: Literal["denied", "skipped"]
    userSuggestion: NotRequired[Message]
    reasonMessage: NotRequired[StringOrMarkdown]
    selectedOptionId: NotRequired[str]


ChatToolCallConfirmedAction: TypeAlias = Annotated[
    ChatToolCallApprovedAction | ChatToolCallDeniedAction, Closed("approved")
]


class ChatToolCallCompleteAction(ToolCallActionBase):
    """The call is done; its result may need approval."""

    type: Literal["chat/toolCallComplete"]
    result: ToolCallResult
    requiresResultConfirmation: NotRequired[bool]


class ChatToolCallResultConfirmedAction(ToolCallActionBase):
    """Somebody approved or refused the result."""

    type: Literal["chat/toolCallResultConfirmed"]
    approved: bool


class ChatToolCallContentChangedAction(ToolCallActionBase):
    """What the running call shows, replaced whole."""

    type: Literal["chat/toolCallContentChanged"]
    content: list[ToolResultContent]


class ChatToolCallAuthRequiredAction(ToolCallActionBase):
    """The call waits for a token."""

    type: Literal["chat/toolCallAuthRequired"]
    auth: McpAuthRequirement


class ChatToolCallAuthResolvedAction(ToolCallActionBase):
    """The token came; the call goes on."""

    type: Literal["chat/toolCallAuthResolved"]


class ChatActivityChangedAction(TypedDict):
    """What the chat is doing; nothing when absent."""

    type: Literal["chat/activityChanged"]
    activity: NotRequired[str]


class ChatWorkingDirectorySetAction(TypedDict):
    """The chat may use one more directory."""

    type: Literal["chat/workingDirectorySet"]
    directory: URI


class ChatWorkingDirectoryRemovedAction(TypedDict):
    """The chat may no longer use a directory."""

    type: Literal["chat/workingDirectoryRemoved"]
    directory: URI


class ChatTruncatedAction(TypedDict):
    """History is cut after a turn; without ``turnId`` all of it goes."""

    type: Literal["chat/truncated"]
    turnId: NotRequired[str]


class ChatTurnsLoadedAction(TypedDict):
    """Older turns arrive at the front."""

    type: Literal["chat/turnsLoaded"]
    turns: list[CompletedTurn]
    turnsNextCursor: NotRequired[str]


class ChatPendingMessageSetAction(TypedDict):
    """A steering or queued message is put in place."""

    type: Literal["chat/pendingMessageSet"]
    kind: PendingMessageKind
    id: str
    message: Message


class ChatPendingMessageRemovedAction(TypedDict):
    """A steering or queued message is withdrawn."""

    type: Literal["chat/pendingMessageRemoved"]
    kind: PendingMessageKind
    id: str


class ChatQueuedMessagesReorderedAction(TypedDict):
    """The queue takes another order."""

    type: Literal["chat/queuedMessagesReordered"]
    order: list[str]


class ChatDraftChangedAction(TypedDict):
    """The unsent message changed; absent, it is gone."""

    type: Literal["chat/draftChanged"]
    draft: NotRequired[Message]


class ChatInputRequestedAction(TypedDict):
    """The agent asks, or edits what it asked."""

    type: Literal["chat/inputRequested"]
    request: ChatInputRequest


class ChatInputAnswerChangedAction(TypedDict):
    """One answer changed; absent, it is withdrawn."""

    type: Literal["chat/inputAnswerChanged"]
    requestId: str
    questionId: str
    answer: NotRequired[ChatInputAnswer]


class ChatInputCompletedAction(TypedDict):
    """The questions are answered, declined or cancelled."""

    type: Literal["chat/inputCompleted"]
    requestId: str
    response: ChatInputResponseKind
    answers: NotRequired[dict[str, ChatInputAnswer]]


class ChatBackgroundWorkSetAction(TypedDict):
    """Work goes on in the background, or its description changed."""

    type: Literal["chat/backgroundWorkSet"]
    work: BackgroundWork


class ChatBackgroundWorkRemovedAction(TypedDict):
    """Work in the background ended."""

    type: Literal["chat/backgroundWorkRemoved"]
    id: str


class ChatMovableChangedAction(TypedDict):
    """The chat may be moved to another session, or no longer."""

    type: Literal["chat/movableChanged"]
    movable: bool


class ChatChangesetsChangedAction(TypedDict):
    """The chat advertises other changesets; none when absent."""

    type: Literal["chat/changesetsChanged"]
    changesets: NotRequired[list[Changeset]]


class ChatCanvasesChangedAction(TypedDict):
    """The chat shows other canvases; none when absent."""

    type: Literal["chat/canvasesChanged"]
    canvases: NotRequired[list[CanvasReference]]


class ChatIsReadChangedAction(TypedDict):
    """The chat was read, or is unread again."""

    type: Literal["chat/isReadChanged"]
    isRead: bool


class ChatIsArchivedChangedAction(TypedDict):
    """The chat was archived, or brought back."""

    type: Literal["chat/isArchivedChanged"]
    isArchived: bool


ChatAction: TypeAlias = Annotated[
    ChatTurnStartedAction
    | ChatDeltaAction
    | ChatResponsePartAction
    | ChatToolCallStartAction
    | ChatToolCallDeltaAction
    | ChatToolCallReadyAction
    | ChatToolCallConfirmedAction
    | ChatToolCallCompleteAction
    | ChatToolCallResultConfirmedAction
    | ChatToolCallContentChangedAction
    | ChatToolCallAuthRequiredAction
    | ChatToolCallAuthResolvedAction
    | ChatTurnCompleteAction
    | ChatTurnCancelledAction
    | ChatErrorAction
    | ChatTurnResumeAction
    | ChatActivityChangedAction
    | ChatWorkingDirectorySetAction
    | ChatWorkingDirectoryRemovedAction
    | ChatUsageAction
    | ChatReasoningAction
    | ChatTruncatedAction
    | ChatTurnsLoadedAction
    | ChatPendingMessageSetAction
    | ChatPendingMessageRemovedAction
    | ChatQueuedMessagesReorderedAction
    | ChatDraftChangedAction
    | ChatInputRequestedAction
    | ChatInputAnswerChangedAction
    | ChatInputCompletedAction
    | ChatBackgroundWorkSetAction
    | ChatBackgroundWorkRemovedAction
    | ChatMovableChangedAction
    | ChatChangesetsChangedAction
    | ChatCanvasesChangedAction
    | ChatIsReadChangedAction
    | ChatIsArchivedChangedAction,
    Open("type"),
]
