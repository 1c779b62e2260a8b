"""One open WebSocket, seen as a transport.

Owns the frames both ways, keep-alive, back-pressure and the closing of one connection. The
library's sans-I/O protocol parses what comes in and answers pings and close frames; data frames
go out as the bytes that ``Encoded`` shares between all connections. Knows nothing of HTTP
(``handshake`` does) or of other connections (``websocket`` does).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from websockets.exceptions import ProtocolError
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from agenthost.host.transports.http import format_peer
from agenthost.transport import LOW_WATER, CloseCode, Encoded, Inbox

__all__ = ["WebSocketOptions", "WebSocketTransport"]


# A control frame holds 125 bytes, of which two are the close code.
_MAX_REASON = 123

# Bytes that the kernel may hold unsent. Little enough that the backlog tells the truth about a
# slow client while its text can still be merged; enough to keep a fast connection busy.
_KERNEL_UNSENT = 128 * 1024


@dataclass(frozen=True, slots=True)
class WebSocketOptions:
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
    inbox_bytes: int = 1024 * 1024
    inbox_messages: int = 256


class WebSocketTransport(asyncio.Protocol):
    """A ``Transport`` over an open WebSocket, on the server's side."""

    def __init__(self, protocol: ServerProtocol, options: WebSocketOptions) -> None:
        self._protocol = protocol
        self._options = options
        self._inbox = Inbox(on_take=self._taken)
        # The message whose fragments are arriving; a bytearray, so that empty ones cost nothing.
        self._partial: bytearray | None = None
        # Whether reading is paused because the inbox is full.
        self._paused = False
        # Set while the backlog is low, and for good once the connection ended.
        self._writable = asyncio.Event()
        self._writable.set()
        # Set when the socket is gone.
        self._lost = asyncio.Event()
        # The next ping, or the check whether the last one was answered.
        self._ping_timer: asyncio.TimerHandle | None = None
        # Whether anything came in, and how much waited to go out, since the last ping.
        self._heard = False
        self._backlog_at_ping = 0
        # Ends a closing that takes too long.
        self._abort_timer: asyncio.TimerHandle | None = None
        self._peer = ""

    # The transport contract.

    async def receive(self) -> bytes:
        """Return the next message; see ``Transport.receive``."""
        return await self._inbox.take()

    def write(self, messages: Sequence[Encoded]) -> None:
        """Send messages in one write; see ``Transport.write``."""
        if messages and not self._inbox.ended and not self._socket.is_closing():
            self._socket.write(_join(messages))

    @property
    def backlog(self) -> int:
        """Bytes not yet accepted by the operating system."""
        return self._socket.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait for a low backlog or the end."""
        await self._writable.wait()

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
        return self._inbox.ended

    @property
    def peer(self) -> str:
        """Address and port of the client."""
        return self._peer

    # For the server that owns the connection.

    def start_close(self, code: int, reason: str) -> None:
        """Send the close frame now and leave the rest to the event loop."""
        if self._protocol.state is OPEN:
            code, reason = _sendable(code), _clip(reason)
            behind = self.backlog > LOW_WATER
            self._protocol.send_close(code, reason)
            self._ended(code, reason, self._options.linger if behind else None)
            self._flush()
        self._inbox.discard()
        # The peer's own close frame may wait behind what the inbox had no room for.
        self._resume_reading()

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
        # One mark for both, so that paused means exactly: more than the low-water mark waits.
        self._socket.set_write_buffer_limits(high=LOW_WATER, low=LOW_WATER)
        _tune(transport.get_extra_info("socket"))
        self._plan_ping()

    def data_received(self, data: bytes) -> None:
        """Parse what came in, answer control frames, queue messages."""
        self._heard = True
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._frame_received(event)
        if self._protocol.state is not OPEN and not self._inbox.ended:
            # The parser met an error and said so in a close frame.
            sent = self._protocol.close_sent
            self._ended(sent.code if sent else CloseCode.ABNORMAL, sent.reason if sent else "")
        self._flush()

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
        self._lost.set()

    def pause_writing(self) -> None:
        """Note that the backlog rose above the low-water mark."""
        if not self._inbox.ended:
            self._writable.clear()

    def resume_writing(self) -> None:
        """Note that the backlog is down again."""
        self._writable.set()

    # Receiving.

    def _frame_received(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.TEXT | Opcode.BINARY if frame.fin:
                self._deliver(bytes(frame.data))
            case Opcode.TEXT | Opcode.BINARY:
                self._partial = bytearray(frame.data)
            case Opcode.CONT if self._partial is not None:
                self._partial += frame.data
                if frame.fin:
                    message, self._partial = bytes(self._partial), None
                    self._deliver(message)
            case Opcode.PONG:
                self._plan_ping()
            case Opcode.CLOSE if self._protocol.close_rcvd is not None:
                received = self._protocol.close_rcvd
                self._ended(received.code, received.reason)

    def _deliver(self, message: bytes) -> None:
        self._inbox.put(message)
        if not self._paused and (
            self._inbox.size > self._options.inbox_bytes
            or len(self._inbox) > self._options.inbox_messages
        ):
            self._paused = True
            self._socket.pause_reading()

    def _taken(self) -> None:
        if (
            self._paused
            and self._inbox.size <= self._options.inbox_bytes // 2
            and len(self._inbox) <= self._options.inbox_messages // 2
        ):
            self._resume_reading()

    def _resume_reading(self) -> None:
        if self._paused:
            self._paused = False
            self._socket.resume_reading()

    # Sending and closing.

    def _flush(self) -> None:
        """Send the control frames that the library wants out, and its end of the stream."""
        for data in self._protocol.data_to_send():
            if self._socket.is_closing():
                return
            if data:
                self._socket.write(data)
            else:
                # Half a close: a peer in the middle of a long send still gets to read why.
                self._socket.write_eof()

    def _ended(self, code: int, reason: str, grace: float | None = None) -> None:
        if self._inbox.ended:
            return
        self._inbox.end(code, reason)
        self._partial = None
        self._writable.set()
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        seconds = self._options.close_grace if grace is None else grace
        self._abort_timer = self._loop.call_later(seconds, self.abort)

    # Keep-alive.

    def _plan_ping(self) -> None:
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        if self._options.ping_interval is not None and not self._inbox.ended:
            self._ping_timer = self._loop.call_later(self._options.ping_interval, self._ping)

    def _ping(self) -> None:
        self._heard = False
        self._backlog_at_ping = self.backlog
        self._protocol.send_ping(b"")
        self._flush()
        if self._options.ping_timeout is not None:
            self._ping_timer = self._loop.call_later(self._options.ping_timeout, self._check_life)
        else:
            self._plan_ping()

    def _check_life(self) -> None:
        # The pong may be stuck behind a long download, or in a socket that we do not read.
        if self._heard or self._paused or self.backlog < self._backlog_at_ping:
            self._plan_ping()
        else:
            self.start_close(CloseCode.INTERNAL_ERROR, "no answer to a ping")


# The tuple joined last and the result, for the next connection in a row. One value, so that event
# loops in two threads cannot see half of it.
_last_join: tuple[Sequence[Encoded], bytes] = ((), b"")


def _join(messages: Sequence[Encoded]) -> bytes:
    global _last_join
    if len(messages) == 1:
        return messages[0].websocket
    key, joined = _last_join
    if messages is not key:
        joined = b"".join([message.websocket for message in messages])
        # Only what cannot change may be recognised by identity.
        if isinstance(messages, tuple):
            _last_join = (messages, joined)
    return joined


def _sendable(code: int) -> int:
    """Return a code that may stand in a close frame, near to the one asked for."""
    try:
        Close(code, "").check()
    except ProtocolError:
        return CloseCode.NORMAL if code == CloseCode.NO_STATUS else CloseCode.INTERNAL_ERROR
    return code


def _clip(reason: str) -> str:
    return reason.encode(errors="replace")[:_MAX_REASON].decode(errors="ignore")


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
