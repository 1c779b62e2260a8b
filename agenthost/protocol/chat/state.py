"""The state of a chat: its turns, the active one, and what waits beside them.

Types only; messages, tool calls and input requests have modules of their own.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.canvas import CanvasReference
from agenthost.protocol.changeset import Changeset
from agenthost.protocol.chat.background_work import BackgroundWork
from agenthost.protocol.chat.input_state import ChatInputRequest, ChatInputResponseKind
from agenthost.protocol.chat.messages import Message, PendingMessage
from agenthost.protocol.chat.tool_state import ToolCallState
from agenthost.protocol.common import (
    ChangesSummary,
    ContentRef,
    ErrorInfo,
    JsonObject,
    SessionStatus,
    StringOrMarkdown,
    UsageInfo,
)
from agenthost.protocol.schema.scalars import URI, NonEmptyString, Number, OpenWord
from agenthost.protocol.schema.unions import Open

ChatInteractivity: TypeAlias = Annotated[Literal["full", "read-only", "hidden"], OpenWord()]
TurnState: TypeAlias = Annotated[Literal["complete", "cancelled", "error"], OpenWord()]


class SideChatSelection(TypedDict):
    """The passage from which a side chat started."""

    text: NonEmptyString
    responsePartId: NotRequired[str]


class UserChatOrigin(TypedDict):
    """Somebody opened the chat."""

    kind: Literal["user"]


class ForkChatOrigin(TypedDict):
    """The chat continues another one after a given turn."""

    kind: Literal["fork"]
    chat: URI
    turnId: str


class SideChatOrigin(TypedDict):
    """The chat starts afresh but knows another one up to a given turn."""

    kind: Literal["sideChat"]
    chat: URI
    turnId: str
    selection: NotRequired[SideChatSelection]


class ToolChatOrigin(TypedDict):
    """A tool call in another chat started this one."""

    kind: Literal["tool"]
    chat: URI
    toolCallId: str


ChatOrigin: TypeAlias = Annotated[
    UserChatOrigin | ForkChatOrigin | SideChatOrigin | ToolChatOrigin, Open("kind")
]


class MarkdownResponsePart(TypedDict):
    """Text of the answer, growing while the turn runs."""

    kind: Literal["markdown"]
    id: str
    content: str


class ResourceResponsePart(ContentRef):
    """Content of the answer that is kept elsewhere."""

    kind: Literal["contentRef"]


class ToolCallResponsePart(TypedDict):
    """A tool call in its place within the answer."""

    kind: Literal["toolCall"]
    toolCall: ToolCallState


class ReasoningResponsePart(TypedDict):
    """What the agent thinks aloud, growing while the turn runs."""

    kind: Literal["reasoning"]
    id: str
    content: str


class SystemNotificationResponsePart(TypedDict):
    """A remark of the host within the answer."""

    kind: Literal["systemNotification"]
    content: StringOrMarkdown
    _meta: NotRequired[JsonObject]


class InputRequestResponsePart(TypedDict):
    """Questions in their place within the answer; open while there is no ``response``."""

    kind: Literal["inputRequest"]
    request: ChatInputRequest
    response: NotRequired[ChatInputResponseKind]


class ErrorResponsePart(TypedDict):
    """A failure in its place within the answer; ``resumable`` if the turn can be taken up again."""

    kind: Literal["error"]
    error: ErrorInfo
    resumable: NotRequired[bool]


ResponsePart: TypeAlias = Annotated[
    MarkdownResponsePart
    | ResourceResponsePart
    | ToolCallResponsePart
    | ReasoningResponsePart
    | SystemNotificationResponsePart
    | InputRequestResponsePart
    | ErrorResponsePart,
    Open("kind"),
]


class CompletedTurn(TypedDict):
    """A finished exchange; ``duration`` is in milliseconds. What failed is a part of the answer."""

    id: str
    startedAt: NotRequired[str]
    duration: NotRequired[Number]
    message: Message
    responseParts: list[ResponsePart]
    usage: NotRequired[UsageInfo]
    state: TurnState


class ActiveTurn(TypedDict):
    """The exchange that is under way."""

    id: str
    startedAt: str
    message: Message
    responseParts: list[ResponsePart]
    usage: NotRequired[UsageInfo]


class ChatSummary(TypedDict):
    """A chat as its session lists it."""

    resource: URI
    title: str
    status: SessionStatus
    activity: NotRequired[str]
    modifiedAt: str
    origin: NotRequired[ChatOrigin]
    interactivity: NotRequired[ChatInteractivity]
    workingDirectories: NotRequired[list[URI]]
    changes: NotRequired[ChangesSummary]
    movable: NotRequired[bool]


class PartialChatSummary(TypedDict, total=False):
    """The fields of a chat's summary that changed."""

    resource: URI
    title: str
    status: SessionStatus
    activity: str
    modifiedAt: str
    origin: ChatOrigin
    interactivity: ChatInteractivity
    workingDirectories: list[URI]
    changes: ChangesSummary
    movable: bool


class ChatState(ChatSummary):
    """Everything about one chat; ``turnsNextCursor`` says that older turns exist."""

    turns: list[CompletedTurn]
    turnsNextCursor: NotRequired[str]
    activeTurn: NotRequired[ActiveTurn]
    steeringMessage: NotRequired[PendingMessage]
    queuedMessages: NotRequired[list[PendingMessage]]
    draft: NotRequired[Message]
    changesets: NotRequired[list[Changeset]]
    backgroundWork: NotRequired[list[BackgroundWork]]
    canvases: NotRequired[list[CanvasReference]]
    _meta: NotRequired[JsonObject]
