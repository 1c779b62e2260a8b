"""Received messages waiting to be read, the same for every transport."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from agenthost.transport.contract import TransportClosed


class ReceiveQueue:
    """Received messages waiting to be read, and then how the connection ended."""

    __slots__ = ("_end", "_messages", "_on_take", "_waiter", "size")

    def __init__(self, on_take: Callable[[], None] | None = None) -> None:
        self._messages: deque[bytes] = deque()
        # Bytes in `_messages`.
        self.size = 0
        # Code and reason of the end; messages received before it are still there to take.
        self._end: tuple[int, str] | None = None
        # Wakes the one caller of `take`.
        self._waiter: asyncio.Future[None] | None = None
        # Told after each message taken, so that a paused carrier may go on.
        self._on_take = on_take

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def ended(self) -> bool:
        """Whether no further message will be put in."""
        return self._end is not None

    def put(self, message: bytes) -> None:
        """Add a message; one that comes after the end is dropped."""
        if self._end is None:
            self._messages.append(message)
            self.size += len(message)
            self._wake()

    def end(self, code: int, reason: str) -> None:
        """Record how the connection ended; the first to say so is right."""
        if self._end is None:
            self._end = (code, reason)
            self._wake()

    def discard(self) -> None:
        """Drop the messages that nobody has taken."""
        self._messages.clear()
        self.size = 0

    async def take(self) -> bytes:
        """Return the oldest message; raises TransportClosed once none can follow."""
        while not self._messages:
            if self._end is not None:
                raise TransportClosed(*self._end)
            await self._wait()
        message = self._messages.popleft()
        self.size -= len(message)
        if self._on_take is not None:
            self._on_take()
        return message

    async def _wait(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("another task is already receiving from this transport")
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
