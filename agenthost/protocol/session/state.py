"""The state of a session: its chats, tools, clients, settings and what it waits for.

Types only; customizations have a module of their own.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.annotations import AnnotationsSummary
from agenthost.protocol.changeset import Changeset
from agenthost.protocol.chat.input_state import ChatInputRequest
from agenthost.protocol.chat.state import ChatInteractivity, ChatOrigin, ChatSummary
from agenthost.protocol.chat.tool_state import (
    ToolCallAuthRequiredState,
    ToolCallConfirmationState,
    ToolCallRunningState,
)
from agenthost.protocol.common import (
    ChangesSummary,
    ConfigPropertySchema,
    ErrorInfo,
    JsonObject,
    SessionStatus,
)
from agenthost.protocol.schema.scalars import URI, OpenWord
from agenthost.protocol.schema.unions import Open
from agenthost.protocol.session.customizations import ClientPluginCustomization, Customization

SessionLifecycle: TypeAlias = Annotated[Literal["creating", "ready", "failed"], OpenWord()]


class ProjectInfo(TypedDict):
    """The project that a session works on."""

    uri: URI
    displayName: str


class AutomationSessionOrigin(TypedDict):
    """A run of an automation made the session."""

    kind: Literal["automation"]
    automation: URI
    run: URI


# A union of one: newer protocols may know other origins, which are kept.
SessionOrigin: TypeAlias = Annotated[AutomationSessionOrigin, Open("kind")]


class ToolSchema(TypedDict):
    """A JSON Schema of a tool's input or output; other keywords are kept as they are."""

    type: Literal["object"]
    properties: NotRequired[dict[str, JsonObject]]
    required: NotRequired[list[str]]


class ToolAnnotations(TypedDict):
    """Hints about how a tool behaves."""

    title: NotRequired[str]
    readOnlyHint: NotRequired[bool]
    destructiveHint: NotRequired[bool]
    idempotentHint: NotRequired[bool]
    openWorldHint: NotRequired[bool]


class ToolDefinition(TypedDict):
    """A tool that the agent may call."""

    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    inputSchema: NotRequired[ToolSchema]
    outputSchema: NotRequired[ToolSchema]
    annotations: NotRequired[ToolAnnotations]
    _meta: NotRequired[JsonObject]


class SessionActiveClient(TypedDict):
    """A client that takes part in the session, with the tools and plugins it brings."""

    clientId: str
    displayName: NotRequired[str]
    tools: list[ToolDefinition]
    customizations: NotRequired[list[ClientPluginCustomization]]


class SessionConfigPropertySchema(ConfigPropertySchema):
    """A session's setting: whether its values are looked up, whether it may change later."""

    enumDynamic: NotRequired[bool]
    sessionMutable: NotRequired[bool]


class SessionConfigSchema(TypedDict):
    """A session's settings by name."""

    type: Literal["object"]
    properties: dict[str, SessionConfigPropertySchema]
    required: NotRequired[list[str]]


class SessionConfigState(TypedDict):
    """A session's settings and their values."""

    schema: SessionConfigSchema
    values: JsonObject


class SessionInputRequestBase(TypedDict):
    """What all entries of ``inputNeeded`` share."""

    id: str
    chat: URI


class SessionChatInputRequest(SessionInputRequestBase):
    """A chat waits for answers."""

    kind: Literal["chatInput"]
    request: ChatInputRequest


class SessionToolConfirmationRequest(SessionInputRequestBase):
    """A tool call, or its result, waits for approval."""

    kind: Literal["toolConfirmation"]
    turnId: str
    toolCall: ToolCallConfirmationState


class SessionToolClientExecutionRequest(SessionInputRequestBase):
    """A client must run its tool."""

    kind: Literal["toolClientExecution"]
    turnId: str
    clientId: str
    toolCall: ToolCallRunningState


class SessionToolAuthenticationRequest(SessionInputRequestBase):
    """A tool call waits for a token."""

    kind: Literal["toolAuthentication"]
    turnId: str
    toolCall: ToolCallAuthRequiredState


SessionInputRequest: TypeAlias = Annotated[
    SessionChatInputRequest
    | SessionToolConfirmationRequest
    | SessionToolClientExecutionRequest
    | SessionToolAuthenticationRequest,
    Open("kind"),
]


class SessionMetadata(TypedDict):
    """What a session's state and summary share."""

    provider: str
    title: str
    status: SessionStatus
    activity: NotRequired[str]
    project: NotRequired[ProjectInfo]
    workingDirectories: NotRequired[list[URI]]
    annotations: NotRequired[AnnotationsSummary]
    origin: NotRequired[SessionOrigin]


class SessionState(SessionMetadata):
    """Everything about one session except what its chats hold."""

    lifecycle: SessionLifecycle
    creationError: NotRequired[ErrorInfo]
    serverTools: NotRequired[list[ToolDefinition]]
    activeClients: list[SessionActiveClient]
    chats: list[ChatSummary]
    defaultChat: NotRequired[URI]
    config: NotRequired[SessionConfigState]
    customizations: NotRequired[list[Customization]]
    changesets: NotRequired[list[Changeset]]
    inputNeeded: NotRequired[list[SessionInputRequest]]
    _meta: NotRequired[JsonObject]


class SessionChatSummary(TypedDict):
    """A chat as the catalogue of sessions tells of it: just enough to list it."""

    resource: URI
    title: str
    origin: NotRequired[ChatOrigin]
    interactivity: NotRequired[ChatInteractivity]
    status: NotRequired[SessionStatus]
    changes: NotRequired[ChangesSummary]


class SessionSummary(SessionMetadata):
    """A session as the catalogue lists it."""

    resource: URI
    createdAt: str
    modifiedAt: str
    changes: NotRequired[ChangesSummary]
    chats: NotRequired[list[SessionChatSummary]]
    defaultChat: NotRequired[URI]
    _meta: NotRequired[JsonObject]


class PartialSessionSummary(TypedDict, total=False):
    """The fields of a session's summary that changed."""

    provider: str
    title: str
    status: SessionStatus
    activity: str
    project: ProjectInfo
    workingDirectories: list[URI]
    annotations: AnnotationsSummary
    origin: SessionOrigin
    resource: URI
    createdAt: str
    modifiedAt: str
    changes: ChangesSummary
    chats: list[SessionChatSummary]
    defaultChat: URI
    _meta: JsonObject
