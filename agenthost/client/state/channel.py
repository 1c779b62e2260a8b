"""A channel that the client follows: its state as it changes, and the envelopes behind that.

Owns what one channel's readers see. When it is subscribed, resumed or given up is for
``client_core`` to decide; how actions and states combine is ``mirror``'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from agenthost.client.state.mirror import Mirror, Received
from agenthost.client.state.signals import Feed, Reader, Signal
from agenthost.client.state.turn_window import WHOLE, TurnWindow
from agenthost.errors import RemoteProtocolError
from agenthost.protocol import NEWEST, translator
from agenthost.protocol.kind_detection import kind_of_state
from agenthost.protocol.versions import Untranslatable

if TYPE_CHECKING:
    from agenthost.client.errors import ChannelGone
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.envelopes import ActionEnvelope
    from agenthost.protocol.reducer_registry import Kind

S = TypeVar("S")

# Envelopes kept while a snapshot is on its way; a host that sends more of them before it answers
# does not keep the order that the protocol promises.
_MOST_EARLY = 4096


@dataclass(frozen=True, slots=True)
class Reset(Generic[S]):
    """The state was replaced by a snapshot; the actions that led to it are unknown."""

    state: S


class Channel(Generic[S]):
    """One channel, followed until its last user lets go of it."""

    def __init__(
        self,
        uri: str,
        client_id: str,
        window: TurnWindow = WHOLE,
        max_latency: int | None = None,
        owner: str | None = None,
    ) -> None:
        self.uri = uri
        # How much of a chat is wanted.
        self.window = window
        # How long the host may hold actions back, in milliseconds; None is its default.
        self.max_latency = max_latency
        # The subscription that is in force, as it was asked for.
        self.asked: JsonObject | None = None
        # The session that it belongs to and goes with, where that is known.
        self.owner = owner
        # Why it may be gone, until the host has been asked.
        self.removed: str | None = None
        # How many follow it.
        self.users = 0
        # Whether the host sends its actions on the link that is up now.
        self.live = False
        # Whether its state belongs to the numbering in which the client resumes.
        self.current = False
        # Done once it is followed for the first time.
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.opened.add_done_callback(lambda future: future.cancelled() or future.exception())
        # The subscribing that is under way.
        self.opening: asyncio.Task[None] | None = None
        self.gone: ChannelGone | None = None
        # Whether nothing has shown yet that a host which resumed us still counts as it did: then a
        # number from the past may be the first of a new count, and not one that was seen before.
        self.unproven = False
        # A chat's last turn, and when this client first knew of it by the monotonic clock.
        self.turn_seen: tuple[str, float] | None = None
        self.changed = Signal()
        self._client_id = client_id
        self._mirror: Mirror | None = None
        self._early: list[JsonObject] = []
        self._told: Feed[ActionEnvelope | Reset[S]] = Feed()

    @property
    def kind(self) -> Kind | None:
        """The kind of its state; None for a channel without one."""
        return None if self._mirror is None else self._mirror.kind

    @property
    def mirror(self) -> Mirror:
        """The confirmed state and what is pending on it."""
        if self._mirror is None:
            raise self.gone or RuntimeError(f"{self.uri} has no state")
        return self._mirror

    @property
    def has_state(self) -> bool:
        """Whether the channel carries state, rather than notifications alone."""
        return self._mirror is not None

    @property
    def state(self) -> S:
        """What to show: the host's state with this client's unanswered actions on top."""
        state: S = self.mirror.state
        return state

    @property
    def confirmed(self) -> S:
        """The state as the host has it."""
        state: S = self.mirror.confirmed
        return state

    @property
    def pending(self) -> tuple[int, ...]:
        """The numbers of this client's unanswered actions."""
        return self.mirror.pending

    async def states(self) -> AsyncIterator[S]:
        """Yield the state now and after every change; several changes may come as one.

        Raises:
            ChannelGone: the channel ceased to exist.
        """
        last: Any = None
        while True:
            count = self.changed.count
            self.check()
            if self.state is not last:
                last = self.state
                yield last
            await self.changed.wait_past(count)

    def __aiter__(self) -> AsyncIterator[S]:
        return self.states()

    async def until(self, holds: Callable[[S], Any]) -> S:
        """Wait until something holds of the state as the host has it, and return that state."""
        while True:
            count = self.changed.count
            self.check()
            if holds(state := self.confirmed):
                return state
            await self.changed.wait_past(count)

    def envelopes(self, bound: int | None = None) -> Reader[ActionEnvelope | Reset[S]]:
        """Return an iterator over every envelope from now on, and over fresh starts (``Reset``).

        Actions are in the newest version; those of an older host that cannot be said in it are
        left out. The iterator raises Lagged when it is read too slowly, so that more than ``bound``
        wait, and ChannelGone at the end.
        """
        return self._told.read(bound)

    def check(self) -> None:
        """Raise ChannelGone if the channel no longer exists."""
        if self.gone is not None:
            # Raised as often as somebody asks, it would otherwise remember everybody who did.
            raise self.gone.with_traceback(None)

    # What core does.

    @property
    def subscription_params(self) -> JsonObject:
        """The params of the subscription that is wanted."""
        params: JsonObject = {"channel": self.uri, **self.window.params()}
        if self.max_latency is not None:
            params["delivery"] = {"maxLatencyMs": self.max_latency}
        return params

    @property
    def takes_actions(self) -> bool:
        """Whether what is sent now will be answered: not while it is being subscribed to anew."""
        return self.live and self.has_state and self.asked == self.subscription_params

    @property
    def is_plain(self) -> bool:
        """Whether the subscription is its URI alone, without view or delivery options."""
        return self.window.is_whole and self.max_latency is None

    def widen(self, window: TurnWindow, max_latency: int | None) -> None:
        """Widen the subscription to what a further follower wants of it, and how soon."""
        self.window = self.window.widened(window)
        if self.max_latency is not None and (max_latency is None or max_latency < self.max_latency):
            self.max_latency = max_latency

    def reset_to(self, snapshot: JsonObject, version: str, now: str) -> None:
        """Start over from a snapshot, then apply newer envelopes that came before it."""
        state, from_seq = snapshot["state"], snapshot["fromSeq"]
        kind = kind_of_state(state)
        if kind is None or not isinstance(from_seq, int):
            raise RemoteProtocolError(f"the snapshot of {self.uri} is of no known kind")
        if self._mirror is None or self._mirror.kind != kind:
            session = self.owner or _session_of(kind, self.uri)
            self._mirror = Mirror(
                kind, version, state, from_seq, client_id=self._client_id, session=session
            )
        else:
            self._mirror.reset(state, from_seq, version=version)
        self._followed()
        if self._told.is_read:
            self._told.publish(Reset(self.confirmed))
        self.apply_early(now)

    def reset_to_stateless(self) -> None:
        """Record that the channel is subscribed and has no state."""
        self._followed()

    def resume(self) -> None:
        """Record that the host sends its actions again, from where it left off."""
        self.live = True

    def apply(self, envelope: JsonObject, now: str) -> Received | None:
        """Apply an envelope; None while there is no state to apply it to.

        Raises:
            RemoteProtocolError: the action does not fit, so the channel needs a snapshot.
        """
        mirror = self._mirror
        if mirror is None or not self.live:
            if len(self._early) < _MOST_EARLY:
                self._early.append(envelope)
            return None
        before = mirror.confirmed if self._told.is_read and mirror.version != NEWEST else None
        received = mirror.receive(envelope, now)
        if received.verdict != "stale":
            self.unproven = False
            self.changed.send()
            if self._told.is_read:
                self._tell(mirror, envelope, before, now)
        return received

    def apply_early(self, now: str) -> None:
        """Apply the envelopes that came before there was a state."""
        early, self._early = self._early, []
        for envelope in early:
            self.apply(envelope, now)

    async def load_earlier(self, request: Callable[[str, JsonObject], Awaitable[Any]]) -> bool:
        """Load the next older turns of a chat into its state; False when there are none left.

        ``request`` sends a request and returns its result in the host's version.
        """
        cursor = self._chat.get("turnsNextCursor")
        if cursor is None:
            return False
        page = await request("fetchTurns", {"channel": self.uri, "cursor": cursor})
        if not translator(self.mirror.version).pages_into_state:
            # Old hosts answer with the turns; all others have put them into the state by now.
            self.mirror.load_page(page["turns"], has_more=bool(page.get("hasMore")))
            self.changed.send()
        if not self.window.is_whole:
            # After a reconnect as much is to be there as before it.
            self.window = self.window.keeping(len(self._chat["turns"]))
            self.asked = self.subscription_params
        return "turnsNextCursor" in self._chat

    @property
    def _chat(self) -> JsonObject:
        return cast("JsonObject", self.state)

    def suspend(self) -> None:
        """Record that the link is down."""
        self.live = self.unproven = False
        self._early.clear()

    def end(self, gone: ChannelGone) -> None:
        """End the channel: it no longer exists, or is no longer followed."""
        self.gone = gone
        self.live = False
        if not self.opened.done():
            self.opened.set_exception(gone)
        self._told.close(gone)
        self.changed.send()

    def _followed(self) -> None:
        self.current = True
        self.unproven = False
        self.resume()
        if not self.opened.done():
            self.opened.set_result(None)
        self.changed.send()

    def _tell(self, mirror: Mirror, envelope: JsonObject, before: Any, now: str) -> None:
        if mirror.version != NEWEST:
            climb = translator(mirror.version).actions_up
            action = envelope["action"]
            try:
                told = climb(mirror.kind, action, before, now=now, around=mirror.around)
            except Untranslatable:
                return
            for action in told:
                self._told.publish(cast("ActionEnvelope", {**envelope, "action": action}))
            return
        self._told.publish(cast("ActionEnvelope", envelope))


def _session_of(kind: Kind, uri: str) -> str:
    """Return the session that a channel's URI names; empty for a kind whose URIs name none."""
    return uri.removesuffix("/annotations") if kind == "annotations" else ""
