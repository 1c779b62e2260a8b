"""Customizations: plugins, directories and MCP servers, and what they contain.

Types only. How a tree of them changes is the session reducer's affair.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import (
    ErrorInfo,
    Icon,
    JsonObject,
    ProtectedResourceMetadata,
    TextRange,
)
from agenthost.protocol.schema.scalars import URI, OpenWord
from agenthost.protocol.schema.unions import Open

ChildCustomizationType: TypeAlias = Annotated[
    Literal["agent", "skill", "prompt", "rule", "hook", "mcpServer"], OpenWord()
]
McpAuthRequiredReason: TypeAlias = Annotated[
    Literal["required", "expired", "insufficientScope"], OpenWord()
]


class GlobalCustomizationEnablement(TypedDict):
    """A decision for everything the user does."""

    kind: Literal["global"]
    enabled: bool


class WorkspaceCustomizationEnablement(TypedDict):
    """A decision for one workspace."""

    kind: Literal["workspace"]
    uri: URI
    enabled: bool


class SessionCustomizationEnablement(TypedDict):
    """A decision for this session."""

    kind: Literal["session"]
    enabled: bool


# In a list of them the first decides; none means enabled.
CustomizationEnablement: TypeAlias = Annotated[
    GlobalCustomizationEnablement
    | WorkspaceCustomizationEnablement
    | SessionCustomizationEnablement,
    Open("kind"),
]


class CustomizationBase(TypedDict):
    """What all customizations share: a session-wide id and a durable place."""

    id: str
    uri: URI
    name: str
    icons: NotRequired[list[Icon]]
    range: NotRequired[TextRange]
    _meta: NotRequired[JsonObject]


class CustomizationLoadingState(TypedDict):
    """The container is being read."""

    kind: Literal["loading"]


class CustomizationLoadedState(TypedDict):
    """The container was read completely."""

    kind: Literal["loaded"]


class CustomizationDegradedState(TypedDict):
    """The container works in part."""

    kind: Literal["degraded"]
    message: str


class CustomizationErrorState(TypedDict):
    """The container could not be read."""

    kind: Literal["error"]
    message: str


CustomizationLoadState: TypeAlias = Annotated[
    CustomizationLoadingState
    | CustomizationLoadedState
    | CustomizationDegradedState
    | CustomizationErrorState,
    Open("kind"),
]


class ChildCustomizationBase(CustomizationBase):
    """What the leaves inside a container share; an absent ``enabled`` means enabled."""

    enabled: NotRequired[bool]


class AgentCustomization(ChildCustomizationBase):
    """A custom agent; no ``tools`` means no restriction."""

    type: Literal["agent"]
    description: NotRequired[str]
    model: NotRequired[str]
    tools: NotRequired[list[str]]
    disableModelInvocation: NotRequired[bool]
    disableUserInvocation: NotRequired[bool]


class SkillCustomization(ChildCustomizationBase):
    """A skill that the model or the user may invoke."""

    type: Literal["skill"]
    description: NotRequired[str]
    disableModelInvocation: NotRequired[bool]
    disableUserInvocation: NotRequired[bool]


class PromptCustomization(ChildCustomizationBase):
    """A prepared prompt."""

    type: Literal["prompt"]
    description: NotRequired[str]


class RuleCustomization(ChildCustomizationBase):
    """Standing instructions, always or for matching files."""

    type: Literal["rule"]
    description: NotRequired[str]
    alwaysApply: NotRequired[bool]
    globs: NotRequired[list[str]]


class HookCustomization(ChildCustomizationBase):
    """Something run on an event of the agent."""

    type: Literal["hook"]


class McpOAuthClient(TypedDict):
    """The registered OAuth client to use instead of registering one."""

    clientId: str
    clientSecret: NotRequired[str]


class McpAuthRequirement(TypedDict):
    """The token that an MCP server asks for, and why."""

    reason: McpAuthRequiredReason
    oauthClient: NotRequired[McpOAuthClient]
    resource: ProtectedResourceMetadata
    requiredScopes: NotRequired[list[str]]
    description: NotRequired[str]


class McpServerStartingState(TypedDict):
    """The server is coming up; ``blocking`` while the session waits for it."""

    kind: Literal["starting"]
    blocking: NotRequired[bool]


class McpServerReadyState(TypedDict):
    """The server answers."""

    kind: Literal["ready"]


class McpServerAuthRequiredState(McpAuthRequirement):
    """The server waits for a token."""

    kind: Literal["authRequired"]


class McpServerErrorState(TypedDict):
    """The server failed."""

    kind: Literal["error"]
    error: ErrorInfo


class McpServerStoppedState(TypedDict):
    """The server does not run."""

    kind: Literal["stopped"]


McpServerState: TypeAlias = Annotated[
    McpServerStartingState
    | McpServerReadyState
    | McpServerAuthRequiredState
    | McpServerErrorState
    | McpServerStoppedState,
    Open("kind"),
]


class ListChangedCapability(TypedDict):
    """Whether changes of a served list are announced."""

    listChanged: NotRequired[bool]


class SamplingCapability(TypedDict):
    """Sampling, with tools or without."""

    tools: NotRequired[JsonObject]


class AhpMcpUiHostCapabilities(TypedDict):
    """Which MCP methods a server's side channel serves."""

    serverTools: NotRequired[ListChangedCapability]
    serverResources: NotRequired[ListChangedCapability]
    logging: NotRequired[JsonObject]
    sampling: NotRequired[SamplingCapability]


class McpServerCustomizationApps(TypedDict):
    """A server's offer to MCP Apps."""

    capabilities: AhpMcpUiHostCapabilities


class McpServerCustomization(CustomizationBase):
    """An MCP server: what the user wants of it (``enablement``), how it fares (``state``)."""

    type: Literal["mcpServer"]
    enablement: NotRequired[list[CustomizationEnablement]]
    state: McpServerState
    channel: NotRequired[URI]
    mcpApp: NotRequired[McpServerCustomizationApps]


ChildCustomization: TypeAlias = Annotated[
    AgentCustomization
    | SkillCustomization
    | PromptCustomization
    | RuleCustomization
    | HookCustomization
    | McpServerCustomization,
    Open("type"),
]


class ContainerCustomizationBase(CustomizationBase):
    """What containers share; absent ``children`` are not known yet, an empty list is."""

    clientId: NotRequired[str]
    load: NotRequired[CustomizationLoadState]
    children: NotRequired[list[ChildCustomization]]


class PluginCustomization(ContainerCustomizationBase):
    """A plugin."""

    type: Literal["plugin"]
    enablement: NotRequired[list[CustomizationEnablement]]
    version: NotRequired[str]


class ClientPluginCustomization(PluginCustomization):
    """A plugin that a client brings along; an equal ``nonce`` means equal content.

    ``childEnablement`` holds what was decided for what is inside, before the host has read it.
    """

    childEnablement: NotRequired[dict[str, list[CustomizationEnablement]]]
    nonce: NotRequired[str]


class DirectoryCustomization(ContainerCustomizationBase):
    """A directory that holds customizations of one type."""

    type: Literal["directory"]
    enabled: bool
    contents: ChildCustomizationType
    writable: bool


Customization: TypeAlias = Annotated[
    PluginCustomization | DirectoryCustomization | McpServerCustomization, Open("type")
]
