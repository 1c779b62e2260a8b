"""What one plain message of a link says, as bytes and back."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from agenthost.errors import RemoteProtocolError

LARGEST_FRAME = 256 * 1024
"""How long the pieces in one frame are together, at most."""

_HEAD = struct.Struct(">BQQQ")
_PIECE = struct.Struct(">I")
_CLOSE = struct.Struct(">H")
# The highest bit of a piece's length says that its message goes on in the next piece.
_GOES_ON = 1 << 31


class FrameKind(IntEnum):
    """What a frame is for."""

    PIECES = 1
    # The sender lives; nothing else. It has the number of the last one that has a number.
    ALIVE = 2
    CLOSE = 3


@dataclass(frozen=True, slots=True)
class LinkFrame:
    """One plain message of a link."""

    kind: FrameKind
    # Counts the frames of one direction, but those that only say that the sender lives.
    number: int
    # How far the sender had read the log when it decided what it says here.
    position: int
    # Bytes of pieces that the sender has taken from the other side so far.
    taken: int
    body: bytes = b""

    def encoded(self) -> bytes:
        """Return it as bytes."""
        return _HEAD.pack(self.kind, self.number, self.position, self.taken) + self.body


def read_frame(data: bytes) -> LinkFrame:
    """Return what was sent; RemoteProtocolError if it is no frame."""
    try:
        kind, number, position, taken = _HEAD.unpack_from(data)
        return LinkFrame(FrameKind(kind), number, position, taken, data[_HEAD.size :])
    except (struct.error, ValueError):
        raise RemoteProtocolError("what came over the link is no frame") from None


def piece(content: bytes | memoryview, goes_on: bool) -> bytes:
    """Return a message, or one piece of it, as a frame holds it."""
    return _PIECE.pack(len(content) | (_GOES_ON if goes_on else 0)) + content


def pieces_of(body: bytes) -> Iterator[tuple[bytes, bool]]:
    """Give the pieces of a frame, and whether their message goes on."""
    at = 0
    while at < len(body):
        try:
            [length] = _PIECE.unpack_from(body, at)
        except struct.error:
            raise RemoteProtocolError("a frame of the link ends too early") from None
        goes_on, length = bool(length & _GOES_ON), length & ~_GOES_ON
        at += _PIECE.size
        if at + length > len(body):
            raise RemoteProtocolError("a frame of the link ends too early")
        yield body[at : at + length], goes_on
        at += length


def close_body(code: int, reason: str) -> bytes:
    """Return how a link ends, as a frame says it."""
    return _CLOSE.pack(code) + reason.encode()[:1000]


def close_of(body: bytes) -> tuple[int, str]:
    """Return code and reason of the end."""
    try:
        [code] = _CLOSE.unpack_from(body)
    except struct.error:
        raise RemoteProtocolError("a frame of the link ends too early") from None
    return code, body[_CLOSE.size :].decode(errors="replace")
