"""What a WebSocket has to send and its socket has not been given yet, in order, as shared pieces.

A socket copies what it cannot pass on at once. So large messages stay here, as the pieces that
all their receivers share, and are handed over bit by bit as the socket takes them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

PORTION = 64 * 1024
"""Bytes handed to a socket at once."""


class Unsent:
    """A queue of bytes, taken in portions whatever pieces they came in."""

    __slots__ = ("_offset", "_parts", "size")

    def __init__(self) -> None:
        # The pieces of each message, and what must live until its last piece is gone.
        self._parts: deque[tuple[bytes, object]] = deque()
        # How much of the first piece has been taken.
        self._offset = 0
        # Bytes that wait.
        self.size = 0

    def __bool__(self) -> bool:
        return self.size > 0

    def put(self, pieces: Sequence[bytes], owner: object = None) -> None:
        """Add bytes; ``owner`` is kept alive until all of them have been taken."""
        for piece in pieces:
            if piece:
                self._parts.append((piece, owner))
                self.size += len(piece)

    def take(self, most: int = PORTION) -> bytes | memoryview:
        """Remove and return the next bytes, one at least; small pieces come joined."""
        first, _ = self._parts[0]
        rest = len(first) - self._offset
        if rest >= most:
            taken = memoryview(first)[self._offset : self._offset + most]
            self._offset += most
            if self._offset == len(first):
                self._next()
            self.size -= most
            return taken
        joined: list[bytes | memoryview] = []
        size = 0
        while self._parts:
            piece, _ = self._parts[0]
            rest = len(piece) - self._offset
            if size + rest > most:
                break
            joined.append(memoryview(piece)[self._offset :] if self._offset else piece)
            size += rest
            self._next()
        self.size -= size
        return b"".join(joined)

    def clear(self) -> None:
        """Forget everything."""
        self._parts.clear()
        self._offset = self.size = 0

    def _next(self) -> None:
        self._parts.popleft()
        self._offset = 0
