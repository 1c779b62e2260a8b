"""The kinds of channels: all that the host must know of one, in one class per kind.

The log, the clients and the delivery are the same for all channels. Where a kind differs from
others they ask its ``ChannelKind``: how its state is shown, what it keeps besides, what clients may
do in it, and what follows from what they did. ``channels.registry`` lists the kinds of this host.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from agenthost.protocol import versions
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.agents.api import Agent
    from agenthost.host.log.channel import AnyChannel, LiveChannel, OwnerChannel
    from agenthost.host.log.effects import Consequence
    from agenthost.host.log.receiver import Receiver
    from agenthost.host.log.writer import ClientAction
    from agenthost.host.store import WholeChannel
    from agenthost.host.trust.principals import Principal, Starter
    from agenthost.protocol.commands import SubscribeView
    from agenthost.protocol.common import Action, JsonObject, ProtectedResourceMetadata
    from agenthost.protocol.reducer_registry import Kind

S = TypeVar("S")
_S_contra = TypeVar("_S_contra", contravariant=True)
# Takes a connection and the params, and returns the result.
Handler: TypeAlias = Callable[[Any, "JsonObject"], Awaitable[object]]
Find = Callable[[str], Awaitable["AnyChannel | None"]]


class Kept(Enum):
    """What of a channel outlives the host."""

    # Its snapshots and its log.
    LOGGED = "logged"
    # Nothing: none of it ever reaches the store. It has no log, so it is not resumed by replay.
    MEMORY = "memory"


class Resumed(Enum):
    """What a client that was away gets of a channel."""

    # The log since then, or a snapshot where that is too long.
    REPLAY = "replay"
    # Always a snapshot, for there is no log.
    SNAPSHOT = "snapshot"
    # Nothing: it must be made anew, because what happened meanwhile is lost.
    MISSING = "missing"


class Applied(Struct, Generic[S], frozen=True):
    """An action that was applied to a channel."""

    channel: LiveChannel[S]
    action: Action
    before: S
    after: S
    # The client's dispatch, where it was one.
    dispatch: ClientAction | None = None
    # On whose behalf, where the host acts for somebody.
    starter: Starter | None = None


class PreparedAction(Struct, frozen=True):
    """A client's action that nothing speaks against, ready to be applied."""

    # None where the consequences are all there is to do; then its sender is told that it is done.
    action: Action | None
    # What must be done before it is applied.
    first: Sequence[Consequence] = ()
    # What must be done before it is applied, and awaited: if that raises AgentError, or the action
    # is not fine any more by then, it is refused.
    awaited: Consequence | None = None
    # What must be done afterwards, and awaited.
    later: Consequence | None = None
    # Whether the host made something else of it, so that its sender must be told what.
    rewritten: bool = False


class DeclinedAction(Struct, frozen=True):
    """Why a client's action is refused."""

    reason: str
    # Notifications for its sender alone.
    notices: Sequence[tuple[str, JsonObject]] = ()


class Surroundings(Protocol):
    """What a kind may ask for to judge a client's action."""

    @property
    def connection(self) -> Receiver:
        """The connection that it comes from, whose client dispatches."""
        ...

    async def find(self, uri: str) -> AnyChannel | None:
        """Return a channel, loading it when it must be."""
        ...

    def agent(self, session: OwnerChannel) -> Agent | None:
        """Return the agent of a session, if it is here."""
        ...

    def missing_tokens(self, session: OwnerChannel) -> Sequence[ProtectedResourceMetadata]:
        """Return what the session's agent protects and this client brought no token for."""
        ...


class Encoder(Protocol[_S_contra]):
    """Writes the states of one channel as JSON, and may remember what it wrote."""

    def encode(
        self, state: _S_contra, version: str, window: int, *, reviewable: bool
    ) -> Sequence[bytes]:
        """Encode a state for one version from a window's beginning on, in pieces."""
        ...


class PlainEncoder(Generic[S]):
    """Writes a state anew each time."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def encode(self, state: S, version: str, window: int, *, reviewable: bool) -> Sequence[bytes]:
        """Encode the whole state for one version."""
        return (
            dumps(
                versions.translator(version).state_down(self._kind, state, reviewable=reviewable)
            ),
        )


class ChannelKind(Generic[S]):
    """One kind of channels, with ``S`` as their state; the defaults do for a simple one."""

    # The protocol's word for it, under which snapshots are stored.
    name: Kind
    kept = Kept.LOGGED
    resumed = Resumed.REPLAY
    # Whether there is anything to see in it; one without a state only sends notifications, and its
    # subscribers begin with no snapshot.
    has_state = True
    # Actions that are told to everybody although they change no state.
    events: frozenset[str] = frozenset()
    # Whether a channel that nobody uses is sent back to the store.
    leaves_memory = True
    # Actions that may shorten the state below where somebody's window begins.
    cuts: frozenset[str] = frozenset()
    # Methods of its own -> their handlers.
    methods: Mapping[str, Handler] = MappingProxyType({})
    # Buckets of records under a channel's URI that belong to it.
    buckets: tuple[str, ...] = ()
    # How long a state may become, by ``length``, before it is ``trimmed``; None for any length.
    scrollback: int | None = None

    def __repr__(self) -> str:
        return f"<kind {self.name}>"

    # What there is besides the state.

    def extra(self) -> object:
        """Make what a channel of this kind keeps besides its state."""
        return None

    def restore(self, channel: LiveChannel[S], whole: WholeChannel) -> None:
        """Fill in what is kept besides the state of a channel that is being loaded."""

    def loaded(self, channel: LiveChannel[S]) -> Sequence[Consequence]:
        """Say what must be done now that a channel is back in memory."""
        return ()

    async def find_alias(self, uri: str, find: Find) -> AnyChannel | None:
        """Return the channel that a URI describes under which none is registered."""
        return None

    # How long it may become.

    def length(self, state: S) -> int:
        """Return the characters of a state that count against ``scrollback``."""
        return 0

    def growth(self, action: Action) -> int:
        """Return by how many characters an action makes a state longer, at most."""
        return 0

    def trimmed(self, state: S) -> S:
        """Return a state without its oldest part; nobody is told, for no action says so."""
        return state

    # How it is shown.

    def encoder(self) -> Encoder[S]:
        """Make what writes the states of one channel."""
        return PlainEncoder(self.name)

    def snapshot(self, channel: LiveChannel[S], owner: OwnerChannel | None, window: int) -> S:
        """Return the state as a new subscriber is to see it; ``owner`` is the channel's session."""
        return channel.state

    def is_reviewable(self, channel: LiveChannel[S]) -> bool:
        """Say whether files can be marked as reviewed, which older versions show in the state."""
        return False

    def window(self, state: S, view: SubscribeView) -> int:
        """Return where the window begins that a subscriber asks for; 0 shows everything."""
        return 0

    def clamp(self, window: int, state: S) -> int:
        """Return a window that does not begin behind the end of a state."""
        return window

    def window_resumed(self, channel: LiveChannel[S], window: int, page: int) -> int:
        """Return a window that shows something to one who gets a new snapshot."""
        return window

    # What clients may do in it.

    def may_follow(self, channel: LiveChannel[S], principal: Principal) -> bool:
        """Say whether somebody may know of a channel; to others it is not there."""
        return True

    def judged_on(
        self, channel: LiveChannel[S], owner: OwnerChannel | None, type: str
    ) -> AnyChannel:
        """Return the channel whose state and rules decide on an action of that type."""
        return channel

    async def place(
        self, channel: LiveChannel[S], owner: OwnerChannel | None, sent: Action, find: Find
    ) -> versions.Whereabouts:
        """Look up what lies around a channel and an action of an older version leaves unsaid."""
        return versions.Whereabouts(channel.session or "")

    async def gather(
        self,
        channel: LiveChannel[S],
        owner: OwnerChannel | None,
        action: Action,
        around: Surroundings,
    ) -> Any:
        """Look up what ``judge`` must know; nothing is awaited from then on until it is applied."""
        return None

    def judge(self, channel: LiveChannel[S], action: Action, context: Any) -> DeclinedAction | None:
        """Return why a client's action is refused, or None when it is fine."""
        return None

    def prepare(
        self,
        channel: LiveChannel[S],
        owner: OwnerChannel | None,
        action: Action,
        as_sent: Action,
        now: str,
    ) -> PreparedAction:
        """Make of a client's action what is to be applied; ``now`` is the host's own time."""
        return PreparedAction(action)

    # What happens in it.

    def follow(self, applied: Applied[S], owner: OwnerChannel | None) -> Sequence[Consequence]:
        """Say what must be done because of an action, in order; ``owner`` is the session."""
        return ()

    def followed(self, channel: LiveChannel[S]) -> Sequence[Consequence]:
        """Say what must be done because somebody follows a channel that nobody followed."""
        return ()

    def came(self, channel: LiveChannel[S], receiver: Receiver) -> Sequence[Consequence]:
        """Say what must be done because one more client follows a channel."""
        return ()

    def unfollowed(self, channel: LiveChannel[S], client_id: str) -> Sequence[Consequence]:
        """Say what must be done because a client does not follow a channel any more."""
        return ()

    def deserted(self, channel: LiveChannel[S]) -> Sequence[Consequence]:
        """Say what must be done because nobody follows a channel any more."""
        return ()


AnyKind: TypeAlias = ChannelKind[Any]
