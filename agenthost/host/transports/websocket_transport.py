"""One open WebSocket, seen as a transport.

Owns keep-alive and the closing of one connection, and joins its two halves: ``websocket_reading``
and ``websocket_writing``. The library's sans-I/O protocol parses what comes in and answers close
frames. Knows nothing of HTTP (``upgrade`` does) or of other connections (``websocket_server``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

from msgspec import Struct
from websockets.exceptions import ProtocolError
from websockets.frames import Close
from websockets.protocol import OPEN

from agenthost.host.http.messages import format_peer
from agenthost.host.transports.websocket_reading import FrameReader, PatientProtocol, read_buffer
from agenthost.host.transports.websocket_writing import FrameWriter
from agenthost.host.trust.large_messages import LargeMessages
from agenthost.host.trust.limits import RateLimiter
from agenthost.transport import LOW_WATER, CloseCode, Encoded

# A control frame holds 125 bytes, of which two are the close code.
_MAX_REASON = 123

# Pings not answered yet, of a peer that does not read the answers; RFC 6455 section 5.5.3 wants
# only the latest one answered.
_MOST_PINGS = 16


class WebSocketOptions(Struct, frozen=True):
    """The times and sizes of a WebSocket connection."""

    # Largest message accepted, in bytes; a whole file may travel base64 in one.
    max_message_size: int = 16 * 1024 * 1024
    # Seconds from one ping's answer to the next ping; None sends none.
    ping_interval: float | None = 20.0
    # Seconds within which a peer must show life after a ping; None waits for ever.
    ping_timeout: float | None = 20.0
    # Seconds that a closing connection gets to flush and to hear the peer's goodbye.
    close_grace: float = 2.0
    # The same for a peer that is far behind: once it reads again, it learns why the connection
    # ended. Until then no more than what it did not take stays in memory.
    linger: float = 30.0
    # Reading pauses when this much, or this many, messages wait to be received.
    inbox_bytes: int = 64 * 1024
    inbox_messages: int = 256


class ServerWebSocket(asyncio.BufferedProtocol):
    """A ``Transport`` over an open WebSocket, on the server's side.

    ``rate`` limits what is parsed, in bytes, and ``large`` which unfinished messages may become
    large; connections may share both.
    """

    write: Callable[[Sequence[Encoded]], None]
    """Send messages in one write; see ``Transport.write``."""

    def __init__(
        self,
        protocol: PatientProtocol,
        options: WebSocketOptions,
        rate: RateLimiter | None = None,
        large: LargeMessages | None = None,
    ) -> None:
        self._protocol = protocol
        protocol.put_off = self._put_off_pong
        self._options = options
        self._rate = rate
        self._large = large
        # Set when the socket is gone.
        self._lost = asyncio.Event()
        # What the pings said that wait for an answer.
        self._pings: deque[bytes] = deque(maxlen=_MOST_PINGS)
        # The next ping of ours, or the check whether the last one was answered.
        self._ping_timer: asyncio.TimerHandle | None = None
        # Whether anything came in, and how much the peer had taken, at the last ping.
        self._heard = False
        self._taken_at_ping = 0
        # Ends a closing that takes too long.
        self._abort_timer: asyncio.TimerHandle | None = None
        self._peer = ""

    # The transport contract.

    async def receive(self) -> bytes:
        """Return the next message; see ``Transport.receive``."""
        return await self._reader.queue.take()

    @property
    def backlog(self) -> int:
        """Bytes not yet accepted by the operating system."""
        return self._writer.backlog

    async def drained(self) -> None:
        """Wait for a low backlog or the end."""
        await self._writer.writable.wait()

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Say goodbye, flush and close; a peer that does not play along is cut off.

        One that is far behind is not waited for: the server that owns the connection lingers.
        """
        self.start_close(code, reason)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._options.close_grace):
                await self._lost.wait()

    @property
    def closed(self) -> bool:
        """Whether the connection ended or is ending."""
        return self._writer.ended

    @property
    def peer(self) -> str:
        """Address and port of the client."""
        return self._peer

    def accept_up_to(self, size: int) -> None:
        """Take messages of so many bytes from now on."""
        self._protocol.max_message_size = size

    # For the server that owns the connection.

    def start_close(self, code: int, reason: str) -> None:
        """Send the close frame now and leave the rest to the event loop."""
        if self._protocol.state is OPEN:
            code, reason = _sendable(code), _clip(reason)
            behind = self.backlog > LOW_WATER
            self._protocol.send_close(code, reason)
            self._ended(code, reason, self._options.linger if behind else None)
            self._writer.flush()
        self._reader.discard()

    def abort(self) -> None:
        """Drop the connection and everything unsent."""
        self._socket.abort()

    async def lost(self) -> None:
        """Wait until the socket is gone."""
        await self._lost.wait()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the socket, after the handshake."""
        self._socket = cast("asyncio.Transport", transport)
        self._loop = asyncio.get_running_loop()
        self._peer = format_peer(transport.get_extra_info("peername"))
        self._writer = FrameWriter(self._socket, self._protocol, on_drained=self._answer_pings)
        # The writer's own: one call less for every client and message.
        self.write = self._writer.write
        self._reader = FrameReader(
            self._socket,
            self._protocol,
            self._rate,
            self._large,
            queue_bytes=self._options.inbox_bytes,
            queue_messages=self._options.inbox_messages,
            on_pong=self._pong_received,
            on_end=self._ended,
            on_parsed=self._writer.flush,
            on_too_slow=self._too_slow,
        )
        self._plan_ping()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Say where to put what comes in."""
        return read_buffer.memory

    def buffer_updated(self, nbytes: int) -> None:
        """Take what came in."""
        self.data_received(bytes(read_buffer.memory[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Parse what came in, answer control frames, queue messages."""
        self._heard = True
        self._reader.feed(data)

    def eof_received(self) -> bool:
        """Note the end of the stream; the loop then closes the socket."""
        self._protocol.receive_eof()
        self._ended(CloseCode.ABNORMAL, "")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the socket is gone."""
        self._ended(CloseCode.ABNORMAL, "")
        if self._abort_timer is not None:
            self._abort_timer.cancel()
        self._reader.stop()
        self._writer.stop()
        self._lost.set()

    def pause_writing(self) -> None:
        """Note that the backlog rose above the low-water mark."""
        self._writer.pause()

    def resume_writing(self) -> None:
        """Note that the socket takes more."""
        # Not at once: the event loop is in the middle of a write of its own.
        self._writer.feed_soon()

    # Closing and keep-alive.

    def _ended(self, code: int, reason: str, grace: float | None = None) -> None:
        if self.closed:
            return
        self._reader.end(code, reason)
        self._writer.end()
        self._pings.clear()
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        seconds = self._options.close_grace if grace is None else grace
        self._abort_timer = self._loop.call_later(seconds, self.abort)

    def _too_slow(self) -> None:
        self.start_close(CloseCode.TRY_AGAIN_LATER, "a large message took too long; others wait")

    def _pong_received(self) -> None:
        if not self.backlog:
            # Else it may come from a peer that reads nothing; the check will tell.
            self._plan_ping()

    def _put_off_pong(self, data: bytes) -> bool:
        """Keep a ping for later if the peer has yet to read what it was sent before."""
        if self.backlog <= LOW_WATER:
            return False
        self._pings.append(data)
        return True

    def _answer_pings(self) -> None:
        """Answer the pings that were put off."""
        while self._pings and self.backlog <= LOW_WATER and self._protocol.state is OPEN:
            self._protocol.send_pong(self._pings.popleft())
            self._writer.flush()

    def _plan_ping(self) -> None:
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        if self._options.ping_interval is not None and not self.closed:
            self._ping_timer = self._loop.call_later(self._options.ping_interval, self._ping)

    def _ping(self) -> None:
        self._heard = False
        self._protocol.send_ping(b"")
        self._writer.flush()
        self._taken_at_ping = self._writer.taken_by_peer
        if self._options.ping_timeout is not None:
            self._ping_timer = self._loop.call_later(self._options.ping_timeout, self._check_life)
        else:
            self._plan_ping()

    def _check_life(self) -> None:
        takes = self._writer.taken_by_peer > self._taken_at_ping
        if self.backlog and not takes:
            # However much it may have to say itself.
            self.start_close(CloseCode.TRY_AGAIN_LATER, "stopped reading; reconnect to resume")
        elif self._heard or takes or not self._socket.is_reading():
            # The pong may be stuck behind a long download, or in a socket that we do not read.
            self._plan_ping()
        else:
            self.start_close(CloseCode.INTERNAL_ERROR, "no answer to a ping")


def _sendable(code: int) -> int:
    """Return a code that may stand in a close frame, near to the one asked for."""
    try:
        Close(code, "").check()
    except ProtocolError:
        return CloseCode.NORMAL if code == CloseCode.NO_STATUS else CloseCode.INTERNAL_ERROR
    return code


def _clip(reason: str) -> str:
    return reason.encode(errors="replace")[:_MAX_REASON].decode(errors="ignore")
