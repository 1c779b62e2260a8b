"""Change notification: signals that coalesce, and bounded feeds that deliver every item.

Owns the two ways in which something that happens synchronously reaches whoever awaits it. Knows
nothing of what is told.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, Self, TypeVar
from weakref import WeakSet

from agenthost.client.errors import Lagged

T = TypeVar("T")

FEED_BOUND = 4096
"""Items that may wait for one reader; at the pace of a fast stream, some seconds."""


class Signal:
    """A count that grows with every change; several changes wake a waiter once."""

    def __init__(self) -> None:
        self.count = 0
        self._waiters: set[asyncio.Future[None]] = set()

    def send(self) -> None:
        """Wake everybody who waits."""
        self.count += 1
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait_past(self, count: int) -> int:
        """Wait until there has been a change since ``count``; return the count then."""
        while self.count <= count:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)
        return self.count


class Reader(Generic[T]):
    """One reader of a feed: an asynchronous iterator over what is published from its making on."""

    def __init__(self, feed: Feed[T], bound: int) -> None:
        # Held, so that a feed lives as long as somebody reads it.
        self._feed = feed
        self._bound = bound
        self._items: deque[T] = deque()
        # Set where no more can follow: the feed ended, or this reader was too slow.
        self._end: Exception | None = None
        self._signal = Signal()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._end is not None:
                raise self._end.with_traceback(None)
            await self._signal.wait_past(self._signal.count)
        return self._items.popleft()

    def put(self, item: T) -> None:
        """Add an item, or end this reader because too many wait."""
        if self._end is not None:
            return
        if len(self._items) >= self._bound:
            self.end(Lagged(f"{self._bound} items waited to be read"))
            return
        self._items.append(item)
        self._signal.send()

    def end(self, error: Exception) -> None:
        """Let the reader end with this error once it has read what waits."""
        if self._end is None:
            self._end = error
            self._signal.send()


class Feed(Generic[T]):
    """Hands every item to every reader; one that is too slow is ended with Lagged."""

    def __init__(self, bound: int = FEED_BOUND) -> None:
        self._bound = bound
        self._readers: WeakSet[Reader[T]] = WeakSet()
        self._end: Exception | None = None

    @property
    def is_read(self) -> bool:
        """Whether anybody reads."""
        return len(self._readers) > 0

    def read(self, bound: int | None = None) -> Reader[T]:
        """Start to read; who does not go on to read has to let go of the reader."""
        reader = Reader(self, bound or self._bound)
        if self._end is not None:
            reader.end(self._end)
        self._readers.add(reader)
        return reader

    def publish(self, item: T) -> None:
        """Hand an item to everybody who reads now."""
        for reader in tuple(self._readers):
            reader.put(item)

    def close(self, error: Exception | None = None) -> None:
        """End all readers, now and later; without an error their iteration just stops."""
        self._end = error or StopAsyncIteration()
        for reader in tuple(self._readers):
            reader.end(self._end)
