"""The root channel: the agents, terminals and settings of a whole host.

State and actions; the reducers are in ``root_reducers``. Sessions are not part of it: their
catalogue is read by command and kept up to date by notifications.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import ConfigSchema, JsonObject, ProtectedResourceMetadata
from agenthost.protocol.schema.scalars import Integer, OpenWord
from agenthost.protocol.schema.unions import Open
from agenthost.protocol.session.customizations import Customization
from agenthost.protocol.terminal import TerminalInfo

PolicyState: TypeAlias = Annotated[Literal["enabled", "disabled", "unconfigured"], OpenWord()]


class MultipleChatsCapability(TypedDict):
    """Sessions of the agent may hold several chats, possibly made from others."""

    fork: NotRequired[bool]
    sideChat: NotRequired[bool]


class MultipleWorkingDirectoriesCapability(TypedDict):
    """Sessions of the agent may use several directories; the first may be fixed or replaceable."""

    immutablePrimary: NotRequired[bool]
    primaryReplacement: NotRequired[bool]


class AgentCapabilities(TypedDict):
    """What an agent supports; a present key means yes."""

    multipleChats: NotRequired[MultipleChatsCapability]
    multipleWorkingDirectories: NotRequired[MultipleWorkingDirectoriesCapability]


class SessionModelInfo(TypedDict):
    """A model that an agent offers."""

    id: str
    provider: str
    name: str
    maxContextWindow: NotRequired[Integer]
    maxOutputTokens: NotRequired[Integer]
    maxPromptTokens: NotRequired[Integer]
    supportsVision: NotRequired[bool]
    policyState: NotRequired[PolicyState]
    configSchema: NotRequired[ConfigSchema]
    _meta: NotRequired[JsonObject]


class AgentInfo(TypedDict):
    """An agent that can run sessions."""

    provider: str
    displayName: str
    description: str
    models: list[SessionModelInfo]
    protectedResources: NotRequired[list[ProtectedResourceMetadata]]
    customizations: NotRequired[list[Customization]]
    capabilities: NotRequired[AgentCapabilities]


class RootConfigState(TypedDict):
    """The host's settings and their values."""

    schema: ConfigSchema
    values: JsonObject


class RootState(TypedDict):
    """Everything that concerns the host as a whole."""

    agents: list[AgentInfo]
    activeSessions: NotRequired[Integer]
    terminals: NotRequired[list[TerminalInfo]]
    config: NotRequired[RootConfigState]
    _meta: NotRequired[JsonObject]


class RootAgentsChangedAction(TypedDict):
    """The host offers other agents."""

    type: Literal["root/agentsChanged"]
    agents: list[AgentInfo]


class RootActiveSessionsChangedAction(TypedDict):
    """Another number of sessions is active."""

    type: Literal["root/activeSessionsChanged"]
    activeSessions: Integer


class RootTerminalsChangedAction(TypedDict):
    """The host has other terminals."""

    type: Literal["root/terminalsChanged"]
    terminals: list[TerminalInfo]


class RootConfigChangedAction(TypedDict):
    """Settings changed: merged into the values, or in their place."""

    type: Literal["root/configChanged"]
    config: JsonObject
    replace: NotRequired[bool]


RootAction: TypeAlias = Annotated[
    RootAgentsChangedAction
    | RootActiveSessionsChangedAction
    | RootTerminalsChangedAction
    | RootConfigChangedAction,
    Open("type"),
]
