"""The contract between a connection and whatever carries its messages, and an in-memory carrier.

Owns what a transport promises (``Transport``), what is handed to it (``Encoded``), how it ends
(``TransportClosed``) and ``memory_pair``, two connected transports without any I/O. Knows nothing
of JSON, of the protocol or of sockets: ``host.transports`` and ``client.transports`` have those.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Protocol

from agenthost.errors import AgentHostError

__all__ = [
    "LOW_WATER",
    "CloseCode",
    "Encoded",
    "ReceiveQueue",
    "Transport",
    "TransportClosed",
    "memory_pair",
]

LOW_WATER = 64 * 1024
"""Backlog in bytes up to which a transport counts as drained: about one socket write."""


class CloseCode(IntEnum):
    """How connections end, in WebSocket's numbers (RFC 6455 section 7.4.1)."""

    NORMAL = 1000
    GOING_AWAY = 1001
    # Never sent: the peer gave no code, or the connection broke.
    NO_STATUS = 1005
    ABNORMAL = 1006
    POLICY_VIOLATION = 1008
    TOO_BIG = 1009
    INTERNAL_ERROR = 1011
    TRY_AGAIN_LATER = 1013


# RFC 6455 section 5.2: final text frame, and the marks that a longer length follows.
_TEXT_FRAME = 0x81
_LENGTH_IN_2_BYTES = 126
_LENGTH_IN_8_BYTES = 127


class TransportClosed(AgentHostError):
    """The connection ended; code and reason are WebSocket's, whatever the carrier."""

    def __init__(self, code: int, reason: str = "") -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"{code} {reason}".rstrip())


class Encoded:
    """One outgoing message, encoded once and shared by every connection that sends it."""

    __slots__ = ("_line", "_payload", "_pieces", "_size", "_websocket")

    def __init__(self, payload: bytes | Sequence[bytes]) -> None:
        # UTF-8 JSON without a raw line break, as every compact JSON encoder writes it. In pieces
        # until somebody asks, which other messages may share.
        self._pieces: Sequence[bytes] = (payload,) if isinstance(payload, bytes) else payload
        self._payload: bytes | None = payload if isinstance(payload, bytes) else None
        self._size = sum(map(len, self._pieces))
        # The two framings, built when the first connection of that kind asks.
        self._websocket: bytes | None = None
        self._line: bytes | None = None

    @property
    def payload(self) -> bytes:
        """The message itself: UTF-8 JSON."""
        if self._payload is None:
            self._payload = b"".join(self._pieces)
            self._pieces = (self._payload,)
        return self._payload

    @property
    def pieces(self) -> Sequence[bytes]:
        """The message in the pieces that it was made of."""
        return self._pieces

    def __len__(self) -> int:
        return self._size

    @property
    def websocket(self) -> bytes:
        """The complete unmasked WebSocket text frame, as servers send it."""
        if self._websocket is None:
            self._websocket = b"".join(self.websocket_pieces)
        return self._websocket

    @property
    def websocket_pieces(self) -> Sequence[bytes]:
        """The same frame in pieces, for what is too large to be copied for every connection."""
        return (_frame_head(self._size), *self._pieces)

    @property
    def line(self) -> bytes:
        """The message and a line feed, as stdio carries it."""
        if self._line is None:
            self._line = b"".join((*self._pieces, b"\n"))
        return self._line

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} bytes>"


def _frame_head(size: int) -> bytes:
    if size < _LENGTH_IN_2_BYTES:
        return bytes((_TEXT_FRAME, size))
    if size < 1 << 16:
        return bytes((_TEXT_FRAME, _LENGTH_IN_2_BYTES)) + size.to_bytes(2, "big")
    return bytes((_TEXT_FRAME, _LENGTH_IN_8_BYTES)) + size.to_bytes(8, "big")


class Transport(Protocol):
    """Carries whole messages both ways, in order, between this process and one peer."""

    async def receive(self) -> bytes:
        """Return the next message, as raw bytes that nobody has checked for UTF-8 or JSON.

        One caller at a time. Cancelling loses no message.

        Raises:
            TransportClosed: the peer ended the connection and all it sent before has been
                received, or this side closed it.
        """
        ...

    def write(self, messages: Sequence[Encoded]) -> None:
        """Hand over messages, in one write to the carrier; never blocks, ignored after the end.

        A tuple handed to many transports in a row is joined once for all of them.
        """
        ...

    @property
    def backlog(self) -> int:
        """Bytes handed over that the operating system has not accepted yet."""
        ...

    async def drained(self) -> None:
        """Wait until the backlog is down to the low-water mark or the connection ended."""
        ...

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Send what is possible within a short grace, then end the connection; idempotent.

        Messages not received by now are dropped.
        """
        ...

    @property
    def closed(self) -> bool:
        """Whether nothing written from now on can reach the peer."""
        ...

    @property
    def peer(self) -> str:
        """A printable address of the other side, free of secrets."""
        ...


class ReceiveQueue:
    """What a transport has received and nobody has taken yet, and how the connection ended."""

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
        self._inbox = ReceiveQueue(on_take=self._taken)
        # Set while the other side has little left to receive.
        self._drained = asyncio.Event()
        self._drained.set()

    async def receive(self) -> bytes:
        return await self._inbox.take()

    def write(self, messages: Sequence[Encoded]) -> None:
        inbox = self.other._inbox
        for message in messages:
            inbox.put(message.payload)
        if self._bound is not None and inbox.size > self._bound:
            self._end(CloseCode.TRY_AGAIN_LATER, "the peer does not receive")
        elif inbox.size > self._low_water:
            self._drained.clear()

    @property
    def backlog(self) -> int:
        return self.other._inbox.size

    async def drained(self) -> None:
        if not self.closed:
            await self._drained.wait()

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        self._end(code, reason)
        self._inbox.discard()

    @property
    def closed(self) -> bool:
        return self._inbox.ended

    @property
    def peer(self) -> str:
        return self._peer

    def _end(self, code: int, reason: str) -> None:
        for side in (self, self.other):
            side._inbox.end(code, reason)
            side._drained.set()

    def _taken(self) -> None:
        if self._inbox.size <= self._low_water:
            self.other._drained.set()
