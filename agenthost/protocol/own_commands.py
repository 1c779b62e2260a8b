"""Params and results of agenthost's own methods: people, tokens, pushes, servers' trust, machines.

Types only. Those about the trash, which came first, are in ``commands``.
"""

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import JsonObject
from agenthost.protocol.params import BaseParams, RootParams
from agenthost.protocol.schema.scalars import NonEmptyString, NonNegative, RootChannel

RoleName: TypeAlias = Literal["owner", "operator", "viewer"]
PushKind: TypeAlias = Literal["needsInput", "failed", "finished"]


class Me(TypedDict):
    """Who a client is at a host."""

    name: str
    role: str


class AboutResult(TypedDict):
    """Who the client is here, and what of this host its page needs to know."""

    me: Me
    # Which build of the page is served, where there is one.
    page: NotRequired[str]
    # The key by which a browser subscribes to pushes, once somebody could.
    push: NotRequired[str]


class TokenInfo(TypedDict):
    """A named token: everything but its secret."""

    name: str
    role: str
    createdAt: str
    expiresAt: NotRequired[str]
    expired: bool


class CreateTokenParams(RootParams):
    """Make a named token; it ends at ``expires``, an instant in ISO 8601 with its zone."""

    name: NonEmptyString
    role: RoleName
    expires: NotRequired[str]


class CreateTokenResult(TypedDict):
    """The new token, and its secret, which is told this once."""

    secret: str
    token: TokenInfo


class ListTokensResult(TypedDict):
    """All named tokens, in the order of their creation."""

    items: list[TokenInfo]


class RevokeTokenParams(RootParams):
    """Withdraw a named token."""

    name: NonEmptyString


class PushKeys(TypedDict):
    """What pushes to a browser are encrypted with, in base64url: its key, and a secret."""

    p256dh: NonEmptyString
    auth: NonEmptyString


class PushTarget(TypedDict):
    """Where a browser takes pushes, as it says so itself."""

    endpoint: NonEmptyString
    expirationTime: NotRequired[NonNegative]
    keys: PushKeys


class SubscribePushParams(RootParams):
    """Push to a browser what its person wants to know; a second time replaces the first."""

    subscription: PushTarget
    kinds: list[PushKind]
    # Whether what is asked for is told besides the session's title.
    withText: bool


class UnsubscribePushParams(RootParams):
    """Push nothing more there."""

    endpoint: NonEmptyString


class VisibleParams(TypedDict):
    """Say whether somebody can see the client's window."""

    channel: RootChannel
    visible: bool


class McpLogParams(BaseParams):
    """Open the log of an MCP server of the session that the channel is, by customization id."""

    id: NonEmptyString


class McpLogResult(TypedDict):
    """The terminal channel that shows the log."""

    terminal: str


class CallMcpToolParams(BaseParams):
    """Call a tool of an MCP server of a session, by customization id, because a person says so."""

    id: NonEmptyString
    tool: NonEmptyString
    arguments: NotRequired[JsonObject]


class CallMcpToolResult(TypedDict):
    """What the server answered: MCP's own CallToolResult."""

    result: JsonObject


class TrustFolderParams(BaseParams):
    """Let MCP servers of a session be started, by customization id, as they are declared now."""

    ids: list[NonEmptyString]
    # The digests of what somebody saw and trusts: what is declared otherwise by now is refused.
    digests: NotRequired[list[NonEmptyString]]


class ForgetTrustParams(RootParams):
    """Forget what was decided about the servers of a folder, which is asked again then."""

    folder: NonEmptyString


class TrustedServer(TypedDict):
    """A decision about one declaration of a server: who took it and when."""

    digest: str
    # What it was called when somebody decided, and whether it may be started.
    name: str
    trusted: bool
    by: str
    at: str


class TrustedFolder(TypedDict):
    """A folder, and what was decided about the servers that it declares."""

    folder: str
    servers: list[TrustedServer]


class ListTrustResult(TypedDict):
    """All that was decided, by folder."""

    items: list[TrustedFolder]


class NodeStatus(TypedDict):
    """One machine of a cluster."""

    node: str
    version: str
    labels: dict[str, str]
    # Where it listens, as it says itself.
    url: NotRequired[str]
    startedAt: str
    # Whether the client is connected to it; whether it leads; whether it is about to leave.
    here: bool
    leads: bool
    draining: bool
    # What is wrong with it, if anything is.
    ailment: NotRequired[str]
    agents: list[str]
    # How many sessions it owns, turns run there, clients it serves; the load of a processor, in
    # percent.
    sessions: NonNegative
    turns: NonNegative
    clients: NonNegative
    load: NonNegative
    # The last message of the log that it has read.
    position: NonNegative


class ListNodesResult(TypedDict):
    """The machines of a cluster that live, by name."""

    items: list[NodeStatus]


class MoveSessionParams(BaseParams):
    """Have the session that the channel is run by another machine; its running turns end."""

    node: NonEmptyString


class MoveSessionResult(TypedDict):
    """The machine that runs it now."""

    node: str
