"""Everything that can happen on a session channel.

Types only; the session reducer says what each action does.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.changeset import Changeset
from agenthost.protocol.chat.state import ChatSummary, PartialChatSummary
from agenthost.protocol.common import ErrorInfo, JsonObject
from agenthost.protocol.schema.scalars import URI
from agenthost.protocol.schema.unions import Open
from agenthost.protocol.session.customizations import (
    Customization,
    CustomizationEnablement,
    McpServerState,
)
from agenthost.protocol.session.state import (
    SessionActiveClient,
    SessionInputRequest,
    ToolDefinition,
)


class SessionReadyAction(TypedDict):
    """The session can be used."""

    type: Literal["session/ready"]


class SessionCreationFailedAction(TypedDict):
    """The session could not be made."""

    type: Literal["session/creationFailed"]
    error: ErrorInfo


class SessionChatAddedAction(TypedDict):
    """A chat is added to the list, or its entry replaced whole."""

    type: Literal["session/chatAdded"]
    summary: ChatSummary


class SessionChatRemovedAction(TypedDict):
    """A chat is gone."""

    type: Literal["session/chatRemoved"]
    chat: URI


class SessionChatUpdatedAction(TypedDict):
    """Some of a chat's summary changed."""

    type: Literal["session/chatUpdated"]
    chat: URI
    changes: PartialChatSummary


class SessionChatsReorderedAction(TypedDict):
    """The chats take another order; all of them are named."""

    type: Literal["session/chatsReordered"]
    chats: list[URI]


class SessionDefaultChatChangedAction(TypedDict):
    """Another chat is the default; none when absent."""

    type: Literal["session/defaultChatChanged"]
    defaultChat: NotRequired[URI]


class SessionTitleChangedAction(TypedDict):
    """The session has another title."""

    type: Literal["session/titleChanged"]
    title: str


class SessionIsReadChangedAction(TypedDict):
    """The session was read, or is unread again."""

    type: Literal["session/isReadChanged"]
    isRead: bool


class SessionIsArchivedChangedAction(TypedDict):
    """The session was archived, or brought back."""

    type: Literal["session/isArchivedChanged"]
    isArchived: bool


class SessionActivityChangedAction(TypedDict):
    """What the session is doing; nothing when absent."""

    type: Literal["session/activityChanged"]
    activity: NotRequired[str]


class SessionChangesetsChangedAction(TypedDict):
    """The session advertises other changesets; none when absent."""

    type: Literal["session/changesetsChanged"]
    changesets: NotRequired[list[Changeset]]


class SessionServerToolsChangedAction(TypedDict):
    """The host offers other tools."""

    type: Literal["session/serverToolsChanged"]
    tools: list[ToolDefinition]


class SessionActiveClientSetAction(TypedDict):
    """A client takes part, or brings other things."""

    type: Literal["session/activeClientSet"]
    activeClient: SessionActiveClient


class SessionActiveClientRemovedAction(TypedDict):
    """A client no longer takes part."""

    type: Literal["session/activeClientRemoved"]
    clientId: str


class SessionWorkingDirectorySetAction(TypedDict):
    """The session may use one more directory."""

    type: Literal["session/workingDirectorySet"]
    directory: URI


class SessionWorkingDirectoryRemovedAction(TypedDict):
    """The session may no longer use a directory."""

    type: Literal["session/workingDirectoryRemoved"]
    directory: URI


class SessionWorkingDirectoryReplacedAction(TypedDict):
    """The session uses another directory in place of one."""

    type: Literal["session/workingDirectoryReplaced"]
    directory: URI
    replacement: URI


class SessionInputNeededSetAction(TypedDict):
    """Something waits for somebody, or waits for something else now."""

    type: Literal["session/inputNeededSet"]
    request: SessionInputRequest


class SessionInputNeededRemovedAction(TypedDict):
    """Something waits no longer."""

    type: Literal["session/inputNeededRemoved"]
    id: str


class SessionCustomizationsChangedAction(TypedDict):
    """The session has other customizations."""

    type: Literal["session/customizationsChanged"]
    customizations: list[Customization]


class SessionCustomizationToggledAction(TypedDict):
    """A customization was switched on or off: all earlier decisions are replaced."""

    type: Literal["session/customizationToggled"]
    id: str
    enablement: list[CustomizationEnablement]


class SessionCustomizationUpdatedAction(TypedDict):
    """A top-level customization is added, or replaced whole."""

    type: Literal["session/customizationUpdated"]
    customization: Customization


class SessionCustomizationRemovedAction(TypedDict):
    """A customization is gone, with all it contained."""

    type: Literal["session/customizationRemoved"]
    id: str


class SessionMcpServerStateChangedAction(TypedDict):
    """An MCP server fares otherwise; without ``channel`` it has none."""

    type: Literal["session/mcpServerStateChanged"]
    id: str
    state: McpServerState
    channel: NotRequired[URI]


class SessionMcpServerStartRequestedAction(TypedDict):
    """Somebody wants an MCP server started."""

    type: Literal["session/mcpServerStartRequested"]
    id: str


class SessionMcpServerStopRequestedAction(TypedDict):
    """Somebody wants an MCP server stopped."""

    type: Literal["session/mcpServerStopRequested"]
    id: str


class SessionMcpServerBackgroundRequestedAction(TypedDict):
    """Somebody wants to go on without waiting for a starting MCP server."""

    type: Literal["session/mcpServerBackgroundRequested"]
    id: str


class SessionConfigChangedAction(TypedDict):
    """Settings changed: merged into the values, or in their place."""

    type: Literal["session/configChanged"]
    config: JsonObject
    replace: NotRequired[bool]


class SessionMetaChangedAction(TypedDict):
    """The session's free-form data is replaced whole."""

    type: Literal["session/metaChanged"]
    _meta: NotRequired[JsonObject]


SessionAction: TypeAlias = Annotated[
    SessionReadyAction
    | SessionCreationFailedAction
    | SessionChatAddedAction
    | SessionChatRemovedAction
    | SessionChatUpdatedAction
    | SessionChatsReorderedAction
    | SessionDefaultChatChangedAction
    | SessionTitleChangedAction
    | SessionServerToolsChangedAction
    | SessionActiveClientSetAction
    | SessionActiveClientRemovedAction
    | SessionWorkingDirectorySetAction
    | SessionWorkingDirectoryRemovedAction
    | SessionWorkingDirectoryReplacedAction
    | SessionInputNeededSetAction
    | SessionInputNeededRemovedAction
    | SessionCustomizationsChangedAction
    | SessionCustomizationToggledAction
    | SessionCustomizationUpdatedAction
    | SessionCustomizationRemovedAction
    | SessionMcpServerStateChangedAction
    | SessionMcpServerStartRequestedAction
    | SessionMcpServerStopRequestedAction
    | SessionMcpServerBackgroundRequestedAction
    | SessionIsReadChangedAction
    | SessionIsArchivedChangedAction
    | SessionActivityChangedAction
    | SessionChangesetsChangedAction
    | SessionConfigChangedAction
    | SessionMetaChangedAction,
    Open("type"),
]
