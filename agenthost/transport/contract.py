"""What a transport promises (``Transport``), what is handed to it (``Encoded``), how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

from agenthost.errors import AgentHostError

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
# The heads of frames with such a length, where that is still zero.
_HEAD_OF_4_BYTES = (_TEXT_FRAME << 8 | _LENGTH_IN_2_BYTES) << 16
_HEAD_OF_10_BYTES = (_TEXT_FRAME << 8 | _LENGTH_IN_8_BYTES) << 64


class TransportClosed(AgentHostError):
    """The connection ended; code and reason are WebSocket's, whatever the carrier."""

    def __init__(self, code: int, reason: str = "") -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"{code} {reason}".rstrip())


class Encoded:
    """One outgoing message, encoded once and shared by every connection that sends it."""

    __slots__ = ("_line", "_payload", "_pieces", "_websocket", "size")

    def __init__(self, payload: bytes | Sequence[bytes]) -> None:
        # UTF-8 JSON without a raw line break, as every compact JSON encoder writes it. In pieces
        # until somebody asks, which other messages may share.
        self._pieces: Sequence[bytes]
        self._payload: bytes | None
        if isinstance(payload, bytes):
            # By far the most.
            self._pieces, self._payload, self.size = (payload,), payload, len(payload)
        else:
            self._pieces, self._payload, self.size = payload, None, sum(map(len, payload))
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
        return self.size

    @property
    def websocket(self) -> bytes:
        """The complete unmasked WebSocket text frame, as servers send it."""
        if self._websocket is None:
            head, payload = _frame_head(self.size), self._payload
            self._websocket = b"".join((head, *self._pieces)) if payload is None else head + payload
        return self._websocket

    @property
    def websocket_pieces(self) -> Sequence[bytes]:
        """The same frame in pieces, for what is too large to be copied for every connection."""
        return (_frame_head(self.size), *self._pieces)

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
        return (_HEAD_OF_4_BYTES | size).to_bytes(4, "big")
    return (_HEAD_OF_10_BYTES | size).to_bytes(10, "big")


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
