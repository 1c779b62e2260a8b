"""The state of the connection to the host, and notification of its changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agenthost.client.state.signals import Feed, Signal


@dataclass(frozen=True, slots=True)
class Connecting:
    """An attempt to connect is under way; the first one is number 0."""

    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Connected:
    """The connection is up."""

    # The protocol version spoken.
    version: str
    # What became of the subscriptions: all new, caught up with every action, or started over.
    resumed: Literal["fresh", "replay", "snapshot"]


@dataclass(frozen=True, slots=True)
class Reconnecting:
    """The connection was lost; the next attempt is ``delay`` seconds away."""

    reason: str
    delay: float
    attempt: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection is over: the client was closed, or gave up with an error."""

    error: Exception | None = None


ConnectionState: TypeAlias = Connecting | Connected | Reconnecting | Closed


class ConnectionStatus:
    """The state of the connection, now and as it changes."""

    def __init__(self) -> None:
        self._state: ConnectionState = Connecting()
        self._listeners: list[Callable[[ConnectionState], None]] = []
        self._feed: Feed[ConnectionState] = Feed()
        self.changed = Signal()

    @property
    def state(self) -> ConnectionState:
        """The current state."""
        return self._state

    def on_change(self, listener: Callable[[ConnectionState], None]) -> Callable[[], None]:
        """Call a function at every change, at once; return what stops that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def __aiter__(self) -> AsyncIterator[ConnectionState]:
        """Yield the state now and every later one; ends after Closed."""
        reader = self._feed.read()
        state = self._state
        yield state
        while not isinstance(state, Closed):
            state = await anext(reader)
            yield state

    def change_to(self, state: ConnectionState) -> None:
        """Change the state and notify everybody who follows it."""
        self._state = state
        self._feed.publish(state)
        self.changed.send()
        for listener in tuple(self._listeners):
            listener(state)
