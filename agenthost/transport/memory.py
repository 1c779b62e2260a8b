"""A transport without any I/O, for tests and for clients in the host's own process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agenthost.transport.contract import LOW_WATER, CloseCode, Encoded, Transport
from agenthost.transport.receive_queue import ReceiveQueue


def memory_pair(
    *,
    bound: int | None = None,
    low_water: int = LOW_WATER,
    peers: tuple[str, str] = ("memory:left", "memory:right"),
) -> tuple[Transport, Transport]:
    """Return two connected transports; what one writes, the other receives.

    The backlog of one side is what the other has not received. Where it grows past ``bound``
    bytes the connection ends with 1013, so that a stuck peer cannot take all memory. ``peers``
    are the addresses that the two sides see of each other: the first is what the first shows.
    """
    left, right = (_MemoryTransport(peer, bound, low_water) for peer in peers)
    left.other, right.other = right, left
    return left, right


class _MemoryTransport:
    """One end of a memory pair."""

    # Set right after construction, since the two ends know each other.
    other: _MemoryTransport

    def __init__(self, peer: str, bound: int | None, low_water: int) -> None:
        self._peer = peer
        self._bound = bound
        self._low_water = low_water
        self._queue = ReceiveQueue(on_take=self._taken)
        # Set while the other side has little left to receive.
        self._drained = asyncio.Event()
        self._drained.set()

    async def receive(self) -> bytes:
        return await self._queue.take()

    def write(self, messages: Sequence[Encoded]) -> None:
        queue = self.other._queue
        for message in messages:
            queue.put(message.payload)
        if self._bound is not None and queue.size > self._bound:
            self._end(CloseCode.TRY_AGAIN_LATER, "the peer does not receive")
        elif queue.size > self._low_water:
            self._drained.clear()

    @property
    def backlog(self) -> int:
        return self.other._queue.size

    async def drained(self) -> None:
        if not self.closed:
            await self._drained.wait()

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        self._end(code, reason)
        self._queue.discard()

    @property
    def closed(self) -> bool:
        return self._queue.ended

    @property
    def peer(self) -> str:
        return self._peer

    def _end(self, code: int, reason: str) -> None:
        for side in (self, self.other):
            side._queue.end(code, reason)
            side._drained.set()

    def _taken(self) -> None:
        if self._queue.size <= self._low_water:
            self.other._drained.set()
