"""Dispatched actions and their outcomes.

Owns the promise that every action ends in exactly one known way: accepted, rejected, not sent, or
uncertain. Knows neither links nor states; ``client_core`` moves the actions along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from agenthost.client.errors import DispatchFailed, NotSent, Rejected, Uncertain
from agenthost.client.state.signals import Signal

if TYPE_CHECKING:
    from agenthost.protocol.envelopes import ActionEnvelope

MOST_UNANSWERED = 10_000
"""Actions that may be without an answer; beyond it a caller is told so at once."""


class Dispatch:
    """An action that was dispatched; await it to learn what became of it.

    Awaiting gives the envelope with which the host accepted it.

    Raises:
        Rejected: the host refused it, with a reason.
        NotSent: it never left this process.
        Uncertain: it was sent and its answer is lost; it took effect once or not at all.
    """

    def __init__(self, client_seq: int, channel: str, action: Mapping[str, Any], now: str) -> None:
        self.client_seq = client_seq
        self.channel = channel
        # In the newest version, as the caller gave it.
        self.action = action
        self.now = now
        # When it may have reached the host, by the monotonic clock; None while it surely has not.
        self.sent_at: float | None = None
        # Whether it waits in a link's queue, from which it must not be taken a second time.
        self.queued = False
        self.outcome: asyncio.Future[ActionEnvelope] = asyncio.get_running_loop().create_future()
        # Nobody has to await an action; what became of it then shows in the state alone.
        self.outcome.add_done_callback(lambda future: future.cancelled() or future.exception())

    def __await__(self) -> Generator[Any, None, ActionEnvelope]:
        # Shielded, because a caller that stops waiting does not undo the action.
        return asyncio.shield(self.outcome).__await__()

    @property
    def done(self) -> bool:
        """Whether it is known what became of it."""
        return self.outcome.done()

    def fail(self, why: str) -> None:
        """End it without an answer: as uncertain if it may have arrived, else as not sent."""
        if not self.outcome.done():
            error: DispatchFailed = NotSent(why) if self.sent_at is None else Uncertain(why)
            self.outcome.set_exception(error)


class Dispatches:
    """The unanswered actions of one client, in the order of their numbers."""

    def __init__(self, first_seq: int) -> None:
        self._next_seq = first_seq
        self._open: dict[int, Dispatch] = {}
        # Tells when fewer are under way.
        self.changed = Signal()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, channel: str, action: Mapping[str, Any], now: str) -> Dispatch:
        """Give an action its number and keep it until it is answered."""
        if len(self._open) >= MOST_UNANSWERED:
            raise NotSent(f"{MOST_UNANSWERED} actions wait for the host already")
        dispatch = Dispatch(self._next_seq, channel, action, now)
        self._open[dispatch.client_seq] = dispatch
        self._next_seq += 1
        return dispatch

    def remove(self, dispatch: Dispatch) -> None:
        """Forget an action that has ended."""
        self._open.pop(dispatch.client_seq, None)
        self.changed.send()

    def answer(self, client_seq: Any, envelope: ActionEnvelope) -> Dispatch | None:
        """End the action that an envelope answers; None when it answers none of these."""
        dispatch = self._open.pop(client_seq, None) if isinstance(client_seq, int) else None
        if dispatch is None or dispatch.done:
            return None
        self.changed.send()
        reason = envelope.get("rejectionReason")
        if reason is None:
            dispatch.outcome.set_result(envelope)
        else:
            dispatch.outcome.set_exception(Rejected(str(reason), envelope))
        return dispatch

    def on(self, channel: str) -> list[Dispatch]:
        """Return the unanswered actions on a channel, oldest first."""
        return [dispatch for dispatch in self._open.values() if dispatch.channel == channel]

    def all(self) -> list[Dispatch]:
        """Return all unanswered actions, oldest first."""
        return list(self._open.values())
