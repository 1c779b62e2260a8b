"""One channel's authoritative state, and how it is shown to a subscriber.

Owns the state, the folding of streamed text into it, and the encoded form of completed turns.
Does not number, log or send anything: ``ledger`` and ``fanout`` do, driven by ``writer``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agenthost.host.channels.chat.encoded_turns import EncodedTurns
from agenthost.host.channels.chat.window import cursor_before
from agenthost.host.channels.session.summary import aggregated_status
from agenthost.host.delivery.growing_text import GrowingText
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.versions import NEWEST, reduce, translator

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.reducer_registry import Kind

State = dict[str, Any]
Action = dict[str, Any]

# Actions that only append text; a run of them on one target is folded into the state lazily, so
# that a delta costs the same in a part of 1 KB and of 1 MB.
_TEXT_FIELD = {"chat/delta": "content", "chat/reasoning": "content"}


@dataclass(slots=True)
class Subscription:
    """One connection's interest in one channel."""

    connection: Connection
    # The spelling the client used: it is echoed everywhere.
    uri: str
    # Envelopes up to here are in the snapshot already.
    from_seq: int
    # The position of the oldest turn this subscriber was shown; 0 for all.
    first_turn: int = 0
    # Upper bound on intentional buffering, in seconds; None is the host's default.
    max_latency: float | None = None

    @property
    def view(self) -> tuple[int, float | None]:
        """How the client sees the channel: what must be known to resume it."""
        return (self.first_turn, self.max_latency)


@dataclass(frozen=True, slots=True)
class Change:
    """What an action did: the states before and after it.

    Text that was appended and not folded in yet has none: it means the same in every version and
    concerns nobody but the readers, so nobody asks.
    """

    states: tuple[State, State] | None


@dataclass(slots=True)
class _TextRun:
    """Text appended to one part and not folded into the state yet."""

    key: tuple[str, str, str]
    action: Action
    now: str
    text: GrowingText = field(default_factory=GrowingText)


class LiveChannel:
    """The state registered under one URI."""

    def __init__(
        self, uri: str, kind: Kind, state: State, *, seq: int = 0, session: str | None = None
    ) -> None:
        self.uri = uri
        self.kind: Kind = kind
        # The session that owns a chat or annotations channel; None for root and sessions.
        self.session = session
        # The sequence number of the last action applied.
        self.seq = seq
        self.subscriptions: dict[Connection, Subscription] = {}
        # Who holds the channel in memory besides its subscribers: a running turn, a command.
        self.holds = 0
        # Log bytes since the stored snapshot, and that snapshot's size: when the former outgrows
        # the latter it is time for a new one, which keeps the cost per action constant.
        self.tail_bytes = 0
        self.stored_bytes = 0
        # Log bytes since the log was last cut to a length.
        self.untrimmed_bytes = 0
        # Turns that a side chat's agent knows of although the chat does not show them.
        self.context: list[Any] = []
        # Turn or pending message -> its attachments as the agent is given them, where that differs.
        self.attached: dict[str, list[Any]] = {}
        # Whether a changeset's files can be reviewed, which only its session's catalogue says.
        self.reviewable = False
        # Whoever saw no more than this is better off with a snapshot than with a replay.
        self.long_since = -1
        # When it was last needed, by the host's monotonic clock.
        self.last_used = 0.0
        self._state = state
        self._run: _TextRun | None = None
        self._encoded_turns: dict[str, EncodedTurns] = {}
        # Version and first turn -> what was encoded last and its JSON, until the state changes:
        # all who come meanwhile share the same bytes.
        self._encoded: dict[tuple[str, int], tuple[State, Sequence[bytes]]] = {}

    @property
    def state(self) -> State:
        """The current state, as plain JSON data."""
        if self._run is not None:
            self._fold()
        return self._state

    @property
    def settled(self) -> State:
        """The state without text that is still being streamed; any thread may look at it."""
        return self._state

    @property
    def in_use(self) -> bool:
        """Whether anybody would miss this channel in memory."""
        return bool(self.subscriptions) or self.holds > 0

    def apply(self, action: Action, now: str) -> Change | None:
        """Reduce an action into the state; None when it changed nothing."""
        text = _TEXT_FIELD.get(action["type"])
        if text is not None and "_meta" not in action:
            key = (action["type"], action["turnId"], action["partId"])
            if self._run is not None and self._run.key == key:
                if not action[text]:
                    return None
                self._run.text.append(action[text])
                return _TEXT_CHANGE
        before = self.state
        after = reduce(self.kind, before, action, now=now)
        if after is before:
            return None
        self._state = after
        self._encoded.clear()
        if action["type"] == "chat/truncated":
            # No window starts behind the last turn, or new turns would count as not shown.
            for subscription in self.subscriptions.values():
                subscription.first_turn = min(subscription.first_turn, len(after["turns"]))
        if text is not None and "_meta" not in action:
            self._run = _TextRun((action["type"], action["turnId"], action["partId"]), action, now)
        return Change((before, after))

    def snapshot_json(
        self,
        version: str = NEWEST,
        *,
        first_turn: int = 0,
        told_elsewhere: Mapping[str, Any] | None = None,
    ) -> Sequence[bytes]:
        """Encode what a subscriber in one version starts from, chats from their ``first_turn`` on.

        ``told_elsewhere`` is what no action tells this channel. The pieces belong together; they
        are apart so that a long history is copied only once.
        """
        state = {**self.state, **told_elsewhere} if told_elsewhere else self.state
        if self.kind == "session":
            # No action tells a session what its chats do, so whoever comes new hears it here.
            state = {**state, "status": aggregated_status(state)}
        elif first_turn:
            state = {**state, "turnsNextCursor": cursor_before(state["turns"], first_turn)}
        return self._encode(state, version, first_turn)

    def stored_json(self) -> Sequence[bytes]:
        """Encode the state as the reducers made it, which is what the log goes on from."""
        return self._encode(self.state, NEWEST, 0)

    def _encode(self, state: State, version: str, first_turn: int) -> Sequence[bytes]:
        encoded, pieces = self._encoded.get((version, first_turn), ({}, ()))
        if not _have_same_members(encoded, state):
            pieces = self._encode_anew(state, version, first_turn)
            self._encoded[version, first_turn] = (state, pieces)
        return pieces

    def _encode_anew(self, state: State, version: str, first_turn: int) -> Sequence[bytes]:
        if self.kind == "chat":
            return self._turns_in(version).encode(state, first_turn)
        down = translator(version).state_down
        return (dumps(down(self.kind, state, reviewable=self.reviewable)),)

    def turn_sizes(self) -> list[int]:
        """Return how many bytes each completed turn of a chat takes on the wire."""
        return self._turns_in(NEWEST).sizes(self.state["turns"])

    def _turns_in(self, version: str) -> EncodedTurns:
        turns = self._encoded_turns.get(version)
        if turns is None:
            turns = self._encoded_turns[version] = EncodedTurns(version)
        return turns

    def _fold(self) -> None:
        run, self._run = self._run, None
        assert run is not None
        if run.text:
            action = {**run.action, _TEXT_FIELD[run.action["type"]]: str(run.text)}
            self._state = reduce(self.kind, self._state, action, now=run.now)
            self._encoded.clear()


def _have_same_members(one: State, other: State) -> bool:
    """Say whether two states are made of the same objects, as copies of one state are."""
    return one.keys() == other.keys() and all(
        value is other[key] or (isinstance(value, str | int) and _equal(value, other[key]))
        for key, value in one.items()
    )


def _equal(one: str | int, other: object) -> bool:
    # True passes for 1.
    return one == other and type(one) is type(other)


_TEXT_CHANGE = Change(None)
