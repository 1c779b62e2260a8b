"""Params and results of the commands that a client sends to a host.

Types only; those about chats are in ``chat.commands``, and the resource commands, which work both
ways, in ``resources``. Which method takes which is ``methods``' table.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.automation.commands import AutomationCapabilities
from agenthost.protocol.common import ContentRef, JsonObject, StringOrMarkdown, TextRange
from agenthost.protocol.envelopes import ActionEnvelope, Snapshot, StateAction
from agenthost.protocol.notifications import TelemetryCapabilities
from agenthost.protocol.params import BaseParams, RootParams
from agenthost.protocol.schema.scalars import (
    URI,
    Channel,
    Count,
    NonEmptyString,
    NonNegative,
    Positive,
    Unchecked,
)
from agenthost.protocol.schema.unions import Closed
from agenthost.protocol.session.state import (
    SessionActiveClient,
    SessionConfigSchema,
    SessionSummary,
)
from agenthost.protocol.terminal import TerminalClaim


class PaginatedParams(TypedDict):
    """Which page of a list is wanted; the first without ``cursor``."""

    limit: NotRequired[Positive]
    cursor: NotRequired[str]


class PaginatedResult(TypedDict):
    """Where the next page begins, if there is one."""

    nextCursor: NotRequired[str]


class Implementation(TypedDict):
    """A program's name and version, for display."""

    name: str
    version: NotRequired[str]
    title: NotRequired[str]


class ClientCapabilities(TypedDict):
    """What a client supports; a present key means yes."""

    mcpApps: NotRequired[JsonObject]


class InitializeParams(RootParams):
    """Open a connection: who the client is and which versions it speaks."""

    # Whether an offer is well-formed is for negotiation to say.
    protocolVersions: Annotated[list[str], Unchecked()]
    clientId: NonEmptyString
    clientInfo: NotRequired[Implementation]
    initialSubscriptions: NotRequired[list[URI]]
    locale: NotRequired[str]
    capabilities: NotRequired[ClientCapabilities]


class InitializeResult(TypedDict):
    """The connection is open: the version to speak and the first snapshots."""

    protocolVersion: str
    serverSeq: Count
    serverInfo: NotRequired[Implementation]
    snapshots: list[Snapshot]
    defaultDirectory: NotRequired[URI]
    completionTriggerCharacters: NotRequired[list[str]]
    terminalCommandPrefix: NotRequired[str]
    telemetry: NotRequired[TelemetryCapabilities]
    automations: NotRequired[AutomationCapabilities]
    _meta: NotRequired[JsonObject]


class PingParams(RootParams):
    """Ask whether the host is there."""


class TrashEntry(TypedDict):
    """A disposed session that can still be taken back."""

    session: URI
    title: str
    provider: str
    disposedAt: str
    expiresAt: str


class ListTrashResult(TypedDict):
    """The disposed sessions, the newest first."""

    items: list[TrashEntry]


class ReconnectParams(RootParams):
    """Resume a lost connection after the last action that was seen."""

    clientId: NonEmptyString
    lastSeenServerSeq: Count
    subscriptions: list[URI]


class ReconnectReplayResult(TypedDict):
    """All that was missed, and the subscriptions that could not be resumed."""

    type: Literal["replay"]
    actions: list[ActionEnvelope]
    missing: list[URI]


class ReconnectSnapshotResult(TypedDict):
    """Too much was missed: fresh states instead."""

    type: Literal["snapshot"]
    snapshots: list[Snapshot]


ReconnectResult: TypeAlias = Annotated[
    ReconnectReplayResult | ReconnectSnapshotResult, Closed("type")
]


class SubscriptionDeliveryOptions(TypedDict):
    """How long, in milliseconds, actions may be held back."""

    maxLatencyMs: NotRequired[NonNegative]


class SubscribeView(TypedDict):
    """How much of a chat is wanted: about so many of its newest turns."""

    turns: NotRequired[Count]


class SubscribeParams(BaseParams):
    """Follow a channel."""

    delivery: NotRequired[SubscriptionDeliveryOptions]
    view: NotRequired[SubscribeView]


class SubscribeResult(TypedDict):
    """The channel's state, where it has one."""

    snapshot: NotRequired[Snapshot]


class UnsubscribeParams(TypedDict):
    """Stop following a channel."""

    channel: Channel


class DispatchActionParams(TypedDict):
    """Propose an action; the answer is an envelope on the channel."""

    channel: Channel
    clientSeq: Count
    action: StateAction


class AuthenticateParams(RootParams):
    """Hand over a token for a protected resource; an empty one takes the last back.

    ``expiresIn`` says for how many seconds more it is good.
    """

    resource: str
    token: str
    scopes: NotRequired[list[str]]
    expiresIn: NotRequired[Positive]


class AuthenticateResult(TypedDict):
    """The token was accepted."""


class ListSessionsParams(RootParams, PaginatedParams):
    """Read a page of the session catalogue."""


class ListSessionsResult(PaginatedResult):
    """A page of the session catalogue."""

    items: list[SessionSummary]


class ResolveSessionConfigParams(RootParams):
    """Ask which settings a session would have, given the choices so far."""

    provider: NotRequired[str]
    workingDirectory: NotRequired[URI]
    config: NotRequired[JsonObject]


class ResolveSessionConfigResult(TypedDict):
    """All settings, and their values with the host's defaults."""

    schema: SessionConfigSchema
    values: JsonObject


class SessionConfigCompletionsParams(ResolveSessionConfigParams):
    """Look up values for one setting."""

    property: str
    query: NotRequired[str]


class SessionConfigValueItem(TypedDict):
    """One value that a setting may take."""

    value: str
    label: str
    description: NotRequired[str]


class SessionConfigCompletionsResult(TypedDict):
    """The values that were found."""

    items: list[SessionConfigValueItem]


class CreateSessionParams(BaseParams):
    """Make a session under a URI that the client chose."""

    provider: NotRequired[str]
    workingDirectories: NotRequired[list[URI]]
    config: NotRequired[JsonObject]
    activeClient: NotRequired[SessionActiveClient]
    progressToken: NotRequired[str]


class DisposeSessionParams(BaseParams):
    """Give up a session."""


class CreateTerminalParams(BaseParams):
    """Start a terminal under a URI that the client chose."""

    claim: TerminalClaim
    name: NotRequired[str]
    cwd: NotRequired[URI]
    cols: NotRequired[Positive]
    rows: NotRequired[Positive]


class DisposeTerminalParams(BaseParams):
    """End a terminal."""


class ChangesetResourceTarget(TypedDict):
    """An operation's target: one file, possibly one side of its change."""

    kind: Literal["resource"]
    resource: URI
    side: NotRequired[Literal["before", "after"]]


class ChangesetRangeTarget(TypedDict):
    """An operation's target: a range within one file."""

    kind: Literal["range"]
    resource: URI
    side: NotRequired[Literal["before", "after"]]
    range: TextRange


ChangesetOperationTarget: TypeAlias = Annotated[
    ChangesetResourceTarget | ChangesetRangeTarget, Closed("kind")
]


class InvokeChangesetOperationParams(BaseParams):
    """Carry out an operation, on the whole changeset when there is no target."""

    operationId: str
    target: NotRequired[ChangesetOperationTarget]


class ChangesetOperationFollowUp(TypedDict):
    """Content to show after an operation."""

    content: ContentRef
    external: NotRequired[bool]


class InvokeChangesetOperationResult(TypedDict):
    """The operation was carried out; there may be something to say or show."""

    message: NotRequired[StringOrMarkdown]
    followUp: NotRequired[ChangesetOperationFollowUp]
