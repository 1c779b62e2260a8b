"""The sending half of a WebSocket: messages and control frames, as fast as the socket takes them.

Data frames go out as the bytes that ``Encoded`` shares between all connections. A socket copies
what it cannot pass on at once; so large messages stay here, as the pieces that all their receivers
share, and are handed over bit by bit.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Callable, Sequence

from websockets.protocol import Protocol

from agenthost.transport import LOW_WATER, Encoded

PORTION = 64 * 1024
"""Bytes handed to a socket at once."""

# Bytes that the kernel may hold unsent. Little enough that the backlog tells the truth about a
# slow client while its text can still be merged; enough to keep a fast connection busy.
_KERNEL_UNSENT = 128 * 1024

# Bytes handed to a socket that takes everything, before others have their turn.
_SENT_AT_ONCE = 128 * 1024


class Unsent:
    """Bytes waiting for a socket, as pieces shared between connections; taken in portions."""

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


class FrameWriter:
    """Hands messages to a socket, and what it does not take yet later.

    ``on_drained`` is told whenever little waits after much did.
    """

    def __init__(
        self, sock: asyncio.Transport, protocol: Protocol, on_drained: Callable[[], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = sock
        self._protocol = protocol
        self._on_drained = on_drained
        # Whether messages are ignored from now on; control frames still leave.
        self.ended = False
        # Set while the backlog is low, and for good once the connection ended.
        self.writable = asyncio.Event()
        self.writable.set()
        # Waits for the socket to take it; behind it the end of the stream, if that is due.
        self._unsent = Unsent()
        self._eof_due = False
        self._feeding: asyncio.Handle | None = None
        # Bytes handed to the socket so far.
        self._written = 0
        # One mark for both, so that paused means exactly: more than the low-water mark waits.
        sock.set_write_buffer_limits(high=LOW_WATER, low=LOW_WATER)
        _tune(sock.get_extra_info("socket"))

    def write(self, messages: Sequence[Encoded]) -> None:
        """Send messages in one write; see ``Transport.write``."""
        if not messages or self.ended or self._socket.is_closing():
            return
        joined = None if self._unsent.size else _join(messages)
        if joined is not None:
            # What `_hand_over` does; a call less for every client and message.
            self._written += len(joined)
            self._socket.write(joined)
            return
        for message in messages:
            self._unsent.put(message.websocket_pieces, message)
        self.feed()

    @property
    def backlog(self) -> int:
        """Bytes not yet accepted by the operating system."""
        return self._unsent.size + self._socket.get_write_buffer_size()

    @property
    def taken_by_peer(self) -> int:
        """Bytes that the operating system has accepted, which it does as the peer reads."""
        return self._written - self._socket.get_write_buffer_size()

    def flush(self) -> None:
        """Send the control frames that the library wants out, and its end of the stream."""
        for data in self._protocol.data_to_send():
            if data:
                self._put(data)
            else:
                self._eof_due = True
        self._end_stream()

    def end(self) -> None:
        """Take no further messages, and hold up nobody who waits for a low backlog."""
        self.ended = True
        self.writable.set()

    def stop(self) -> None:
        """Drop what waits; the socket is gone."""
        if self._feeding is not None:
            self._feeding.cancel()
        self._unsent.clear()

    def pause(self) -> None:
        """Note that the backlog rose above the low-water mark."""
        if not self.ended:
            self.writable.clear()

    def feed_soon(self) -> None:
        """Give the socket more, once the event loop is done with what it does now."""
        if self._feeding is None:
            self._feeding = self._loop.call_soon(self.feed)

    def feed(self) -> None:
        """Give the socket what waits, until its own buffer is full."""
        if self._feeding is not None:
            self._feeding.cancel()
            self._feeding = None
        given = 0
        while self._unsent and self._socket.get_write_buffer_size() <= LOW_WATER:
            if self._socket.is_closing():
                self._unsent.clear()
                break
            if given > _SENT_AT_ONCE:
                self.feed_soon()
                break
            portion = self._unsent.take()
            given += len(portion)
            self._hand_over(portion)
        if self._unsent and not self.ended:
            self.writable.clear()
        elif self._socket.get_write_buffer_size() <= LOW_WATER:
            self.writable.set()
            self._on_drained()
        self._end_stream()

    def _put(self, data: bytes) -> None:
        """Send some bytes behind all that waits."""
        if self._unsent:
            self._unsent.put((data,))
        elif not self._socket.is_closing():
            self._hand_over(data)

    def _hand_over(self, data: bytes | memoryview) -> None:
        self._written += len(data)
        self._socket.write(data)

    def _end_stream(self) -> None:
        if self._eof_due and not self._unsent and not self._socket.is_closing():
            self._eof_due = False
            # Half a close: a peer in the middle of a long send still gets to read why. One that
            # is gone already, unnoticed while nothing was read from it, raises.
            with contextlib.suppress(OSError):
                end_output(self._socket)


def end_output(sock: asyncio.Transport) -> None:
    """End the stream that we send, and go on reading what still comes, as long as that may take.

    TLS knows no half of a close; there the closing itself sends what waits, and drops what comes.
    """
    if sock.can_write_eof():
        sock.write_eof()
    else:
        sock.close()


# The tuple joined last and the result, for the next connection in a row. One value, so that event
# loops in two threads cannot see half of it.
_last_join: tuple[Sequence[Encoded], bytes] = ((), b"")


def _join(messages: Sequence[Encoded]) -> bytes | None:
    """Return the frames of all messages, or None where one is too large to be copied."""
    global _last_join
    if len(messages) == 1:
        return messages[0].websocket if messages[0].size <= PORTION else None
    key, joined = _last_join
    if messages is not key:
        frames: list[bytes] = []
        for message in messages:
            if message.size > PORTION:
                return None
            frames.append(message.websocket)
        joined = b"".join(frames)
        # Only what cannot change may be recognised by identity.
        if isinstance(messages, tuple):
            _last_join = (messages, joined)
    return joined


def _tune(sock: socket.socket | None) -> None:
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    # A client may be gone by now, and not every system has both; neither is worth an error.
    with contextlib.suppress(OSError):
        # The event loop does this only for sockets that name their protocol.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        not_sent = getattr(socket, "TCP_NOTSENT_LOWAT", None)
        if not_sent is not None:
            sock.setsockopt(socket.IPPROTO_TCP, not_sent, _KERNEL_UNSENT)
