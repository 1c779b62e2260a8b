"""One channel's authoritative state, and how it is shown to a subscriber.

Owns the state, the folding of streamed text into it, and what was encoded of it. Does not number,
log or send anything: ``ledger`` and ``fanout`` do, driven by ``writer``. What differs from kind to
kind of channel, the ``kind`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast

from msgspec import Struct

from agenthost.host.log.kind import ChannelKind, Kept, S
from agenthost.protocol.appending import AppendRun, append_key
from agenthost.protocol.reduction import reduce_canonical
from agenthost.protocol.versions import NEWEST

if TYPE_CHECKING:
    from agenthost.host.log.receiver import Receiver
    from agenthost.protocol.common import Action, JsonObject
    from agenthost.protocol.session.state import SessionState


class Subscription(Struct):
    """One connection's interest in one channel."""

    connection: Receiver
    # The spelling the client used: it is echoed everywhere.
    uri: str
    # Envelopes up to here are in the snapshot already.
    from_seq: int
    # Where that begins which this subscriber was shown, as the channel's kind counts; 0 for all.
    window: int = 0
    # Upper bound on intentional buffering, in seconds; None is the host's default.
    max_latency: float | None = None
    # Whether the connection hears of this channel in another way, and counts as following it only.
    is_quiet: bool = False

    @property
    def view(self) -> tuple[int, float | None]:
        """How the client sees the channel: what must be known to resume it."""
        return (self.window, self.max_latency)


class Change(Struct, Generic[S], frozen=True):
    """What an action did: the states before and after it.

    Text that was appended and not folded in yet has none: it means the same in every version and
    concerns nobody but the readers, so nobody asks.
    """

    states: tuple[S, S] | None


class LiveChannel(Generic[S]):
    """The state registered under one URI."""

    def __init__(
        self,
        uri: str,
        kind: ChannelKind[S],
        state: S,
        *,
        seq: int = 0,
        session: str | None = None,
    ) -> None:
        self.uri = uri
        self.kind = kind
        # Asked at every action, so looked up once.
        self.is_logged = kind.kept is Kept.LOGGED
        self._kind_name = kind.name
        self._cuts = kind.cuts
        self._scrollback = kind.scrollback
        # The session that owns a chat or annotations channel; None for root and sessions.
        self.session = session
        # The sequence number of the last action applied.
        self.seq = seq
        self.subscriptions: dict[Receiver, Subscription] = {}
        # Who holds the channel in memory besides its subscribers: a running turn, a command.
        self.holds = 0
        # Log bytes since the stored snapshot, and that snapshot's size: when the former outgrows
        # the latter it is time for a new one, which keeps the cost per action constant.
        self.tail_bytes = 0
        self.stored_bytes = 0
        # Log bytes since the log was last cut to a length.
        self.untrimmed_bytes = 0
        # What its kind keeps besides the state.
        self.extra = kind.extra()
        # Whoever saw no more than this is better off with a snapshot than with a replay.
        self.replay_too_long_below = -1
        # When it was last needed, by the host's monotonic clock.
        self.last_used = 0.0
        self.encoder = kind.encoder()
        self._state = state
        # Text that is folded into the state when somebody looks, so that a delta costs the same in
        # a part of 1 KB and of 1 MB.
        self._run: AppendRun | None = None
        # Version and window -> what was encoded last and its JSON, until the state changes:
        # all who come meanwhile share the same bytes.
        self._encoded: dict[tuple[str, int], tuple[S, Sequence[bytes]]] = {}
        # Where its kind limits it: how long the state is at most, and at which length it is
        # trimmed. To count anew with each action takes long where there are many parts.
        self._length = kind.length(state) if self._scrollback is not None else 0
        self._trimmed_above = self._scrollback or 0

    @property
    def state(self) -> S:
        """The current state, as plain JSON data."""
        if self._run is not None:
            self._fold()
        return self._state

    @property
    def settled(self) -> S:
        """The state without text that is still being streamed; any thread may look at it."""
        return self._state

    @property
    def in_use(self) -> bool:
        """Whether anybody would miss this channel in memory."""
        return bool(self.subscriptions) or self.holds > 0

    def apply(self, action: Action, now: str) -> Change[S] | None:
        """Reduce an action into the state; None when it changed nothing."""
        key, run = append_key(action), self._run
        if key is not None and run is not None and run.key == key:
            text = action[run.field]
            if not text:
                return None
            run.text.append(text)
            if self._scrollback is not None:
                self._grow(self._length + len(text))
            return _TEXT_CHANGE
        before = self.state
        after = reduce_canonical(self._kind_name, before, action, now)
        if after is before:
            return None
        self._state = after
        self._encoded.clear()
        if action["type"] in self._cuts:
            # No window begins behind the end, or what comes would count as not shown.
            for subscription in self.subscriptions.values():
                subscription.window = self.kind.clamp(subscription.window, after)
        if key is not None:
            self._run = AppendRun(key, action, now)
        if self._scrollback is not None:
            self._grow(self._length + self.kind.growth(action))
        return Change((before, after))

    def snapshot_json(
        self, version: str = NEWEST, *, window: int = 0, owner: OwnerChannel | None = None
    ) -> Sequence[bytes]:
        """Encode what a subscriber in one version starts from, from its ``window`` on.

        The pieces belong together; they are apart so that a long history is copied only once.
        """
        return self._encode(self.kind.snapshot(self, owner, window), version, window)

    def stored_json(self) -> Sequence[bytes]:
        """Encode the state as the reducers made it, which is what the log goes on from."""
        return self._encode(self.state, NEWEST, 0)

    def _encode(self, state: S, version: str, window: int) -> Sequence[bytes]:
        known = self._encoded.get((version, window))
        if known is not None and _have_same_members(known[0], state):
            return known[1]
        reviewable = self.kind.is_reviewable(self)
        pieces = self.encoder.encode(state, version, window, reviewable=reviewable)
        self._encoded[version, window] = (state, pieces)
        return pieces

    def _grow(self, length: int) -> None:
        """Take note of the length that the state has at most, and cut it where that is too much.

        Also while nobody looks: text that is gathered for the state would grow without bound.
        """
        assert self._scrollback is not None
        self._length = length
        if length <= self._trimmed_above:
            return
        self._length = self.kind.length(self.state)
        if self._length <= self._trimmed_above:
            return
        self._state = self.kind.trimmed(self.state)
        self._encoded.clear()
        self._length = self.kind.length(self._state)
        # What cannot be cut is not looked at again at each piece of text.
        self._trimmed_above = max(self._scrollback, self._length + self._scrollback // 5)

    def _fold(self) -> None:
        run, self._run = self._run, None
        assert run is not None
        if run.text:
            self._state = reduce_canonical(self._kind_name, self._state, run.folded(), run.now)
            self._encoded.clear()


def _have_same_members(one: object, other: object) -> bool:
    """Say whether two states are made of the same objects, as copies of one state are."""
    mine, others = cast("JsonObject", one), cast("JsonObject", other)
    return mine.keys() == others.keys() and all(
        value is others[key] or (isinstance(value, str | int) and _equal(value, others[key]))
        for key, value in mine.items()
    )


def _equal(one: str | int, other: object) -> bool:
    # True passes for 1.
    return one == other and type(one) is type(other)


AnyChange: TypeAlias = Change[Any]
_TEXT_CHANGE: AnyChange = Change(None)
AnyChannel: TypeAlias = LiveChannel[Any]
# The session that a chat or an annotations channel belongs to.
OwnerChannel: TypeAlias = LiveChannel["SessionState"]
