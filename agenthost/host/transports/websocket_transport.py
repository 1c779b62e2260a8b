"""One open WebSocket, seen as a transport.

Owns the frames both ways, keep-alive, back-pressure and the closing of one connection. The
library's sans-I/O protocol parses what comes in and answers close frames; data frames go out as
the bytes that ``Encoded`` shares between all connections. Knows nothing of HTTP (``handshake``
does) or of other connections (``websocket`` does).

Nothing that the peer does makes this grow: what comes in is parsed as fast as its rate allows and
its messages are taken, pings are answered as far as their answers are read, and what goes out
waits as references to shared bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from websockets.exceptions import ProtocolError
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from agenthost.host.http.messages import format_peer
from agenthost.host.transports.unsent import PORTION, Unsent
from agenthost.host.trust.limits import RateLimiter
from agenthost.transport import LOW_WATER, CloseCode, Encoded, ReceiveQueue

# A control frame holds 125 bytes, of which two are the close code.
_MAX_REASON = 123

# Bytes that the kernel may hold unsent. Little enough that the backlog tells the truth about a
# slow client while its text can still be merged; enough to keep a fast connection busy.
_KERNEL_UNSENT = 128 * 1024

# Bytes read at once, and parsed at once: of the smallest frames that is ten milliseconds' work.
_READ_BYTES = 64 * 1024
_PARSED_BYTES = 8 * 1024
# Frames parsed in a row before others have their turn.
_PARSED_FRAMES = 512
# What parsing a frame costs besides its bytes, in bytes' worth.
_FRAME_COST = 1024
# Pings not answered yet, of a peer that does not read the answers; RFC 6455 section 5.5.3 wants
# only the latest one answered.
_MOST_PINGS = 16
# Bytes handed to a socket that takes everything, before others have their turn.
_SENT_AT_ONCE = 128 * 1024


class _ReadBuffer(threading.local):
    """Where sockets put what they received; one for all of a thread's, because it is taken out
    at once, and idle connections should cost little."""

    def __init__(self) -> None:
        self.memory = memoryview(bytearray(_READ_BYTES))


_read_buffer = _ReadBuffer()


class PatientProtocol(ServerProtocol):
    """The library's protocol, able to put off the answers to pings."""

    # Asked with each ping's data; whoever says yes will answer it.
    put_off: Callable[[bytes], bool] | None = None

    def recv_frame(self, frame: Frame) -> None:
        """Process a frame; a ping whose answer is put off is only told as an event."""
        if (
            frame.opcode is Opcode.PING
            and self.put_off is not None
            and self.put_off(bytes(frame.data))
        ):
            self.events.append(frame)
        else:
            super().recv_frame(frame)


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
    inbox_bytes: int = 64 * 1024
    inbox_messages: int = 256


class ServerWebSocket(asyncio.BufferedProtocol):
    """A ``Transport`` over an open WebSocket, on the server's side.

    ``rate`` limits what is parsed, in bytes; connections may share one.
    """

    def __init__(
        self,
        protocol: PatientProtocol,
        options: WebSocketOptions,
        rate: RateLimiter | None = None,
    ) -> None:
        self._protocol = protocol
        protocol.put_off = self._put_off_pong
        self._options = options
        self._rate = rate
        self._inbox = ReceiveQueue(on_take=self._taken)
        # The message whose fragments are arriving; a bytearray, so that empty ones cost nothing.
        self._partial: bytearray | None = None
        # Received and not parsed yet: the inbox is full, or the rate used up.
        self._unparsed = b""
        # Whether the inbox is full, and what ends a wait for the rate.
        self._full = False
        self._rate_timer: asyncio.TimerHandle | None = None
        # Waits for the socket to take it; behind it the end of the stream, if that is due.
        self._unsent = Unsent()
        self._eof_due = False
        self._feeding: asyncio.Handle | None = None
        # Set while the backlog is low, and for good once the connection ended.
        self._writable = asyncio.Event()
        self._writable.set()
        # Set when the socket is gone.
        self._lost = asyncio.Event()
        # What the pings said that wait for an answer.
        self._pings: deque[bytes] = deque(maxlen=_MOST_PINGS)
        # The next ping of ours, or the check whether the last one was answered.
        self._ping_timer: asyncio.TimerHandle | None = None
        # Whether anything came in, and how much the peer had taken, at the last ping.
        self._heard = False
        self._written = 0
        self._taken_at_ping = 0
        # Ends a closing that takes too long.
        self._abort_timer: asyncio.TimerHandle | None = None
        self._peer = ""

    # The transport contract.

    async def receive(self) -> bytes:
        """Return the next message; see ``Transport.receive``."""
        return await self._inbox.take()

    def write(self, messages: Sequence[Encoded]) -> None:
        """Send messages in one write; see ``Transport.write``."""
        if not messages or self._inbox.ended or self._socket.is_closing():
            return
        joined = None if self._unsent else _join(messages)
        if joined is not None:
            self._hand_over(joined)
            return
        for message in messages:
            self._unsent.put(message.websocket_pieces, message)
        self._feed()

    @property
    def backlog(self) -> int:
        """Bytes not yet accepted by the operating system."""
        return self._unsent.size + self._socket.get_write_buffer_size()

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
            self._flush()
        self._inbox.discard()
        # The peer's own close frame may wait behind what the inbox had no room for.
        self._full = False
        self._read_on()

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

    def get_buffer(self, sizehint: int) -> memoryview:
        """Say where to put what comes in."""
        return _read_buffer.memory

    def buffer_updated(self, nbytes: int) -> None:
        """Take what came in."""
        self.data_received(bytes(_read_buffer.memory[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Parse what came in, answer control frames, queue messages."""
        self._heard = True
        self._unparsed += data
        self._parse()

    def eof_received(self) -> bool:
        """Note the end of the stream; the loop then closes the socket."""
        self._protocol.receive_eof()
        self._ended(CloseCode.ABNORMAL, "")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the socket is gone."""
        self._ended(CloseCode.ABNORMAL, "")
        for timer in (self._abort_timer, self._rate_timer, self._feeding):
            if timer is not None:
                timer.cancel()
        self._unparsed = b""
        self._unsent.clear()
        self._lost.set()

    def pause_writing(self) -> None:
        """Note that the backlog rose above the low-water mark."""
        if not self._inbox.ended:
            self._writable.clear()

    def resume_writing(self) -> None:
        """Note that the socket takes more."""
        # Not at once: the event loop is in the middle of a write of its own.
        self._feed_soon()

    # Receiving.

    def _parse(self) -> None:
        """Parse what was received, as far as rate and inbox allow."""
        frames, position, data = 0, 0, self._unparsed
        while position < len(data) and not self._full and self._rate_timer is None:
            if frames > _PARSED_FRAMES:
                self._wait_for_rate(0)
                break
            part = data[position : position + _PARSED_BYTES]
            if self._rate is not None and (wait := self._rate.take(self._loop.time(), len(part))):
                self._wait_for_rate(wait)
                break
            position += len(part)
            frames += self._parse_part(part)
        self._unparsed = data[position:]
        self._update_reading()

    def _parse_part(self, data: bytes) -> int:
        """Parse some bytes and return how many frames they ended."""
        self._protocol.receive_data(data)
        frames = self._protocol.events_received()
        for frame in frames:
            if isinstance(frame, Frame):
                self._frame_received(frame)
        if self._rate is not None:
            self._rate.charge(len(frames) * _FRAME_COST)
        if self._protocol.state is not OPEN and not self._inbox.ended:
            # The parser met an error and said so in a close frame.
            sent = self._protocol.close_sent
            self._ended(sent.code if sent else CloseCode.ABNORMAL, sent.reason if sent else "")
        self._flush()
        return len(frames)

    def _wait_for_rate(self, seconds: float) -> None:
        self._rate_timer = self._loop.call_later(seconds, self._rate_allows)

    def _rate_allows(self) -> None:
        self._rate_timer = None
        self._read_on()

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
            case Opcode.PONG if not self.backlog:
                # Else it may come from a peer that reads nothing; the check will tell.
                self._plan_ping()
            case Opcode.CLOSE if self._protocol.close_rcvd is not None:
                received = self._protocol.close_rcvd
                self._ended(received.code, received.reason)

    def _deliver(self, message: bytes) -> None:
        self._inbox.put(message)
        if not self._inbox.ended and (
            self._inbox.size > self._options.inbox_bytes
            or len(self._inbox) > self._options.inbox_messages
        ):
            self._full = True

    def _taken(self) -> None:
        if (
            self._full
            and self._inbox.size <= self._options.inbox_bytes // 2
            and len(self._inbox) <= self._options.inbox_messages // 2
        ):
            self._full = False
            self._read_on()

    def _read_on(self) -> None:
        """Parse what was put off, then let the socket bring more."""
        if self._unparsed:
            self._parse()
        else:
            self._update_reading()

    def _update_reading(self) -> None:
        """Read from the socket only while what comes in can be dealt with at once."""
        wanted = not self._full and self._rate_timer is None and not self._unparsed
        if self._socket.is_closing() or wanted == self._socket.is_reading():
            return
        if wanted:
            self._socket.resume_reading()
        else:
            self._socket.pause_reading()

    # Sending and closing.

    def _flush(self) -> None:
        """Send the control frames that the library wants out, and its end of the stream."""
        for data in self._protocol.data_to_send():
            if data:
                self._put(data)
            else:
                self._eof_due = True
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

    def _feed_soon(self) -> None:
        if self._feeding is None:
            self._feeding = self._loop.call_soon(self._feed)

    def _feed(self) -> None:
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
                self._feed_soon()
                break
            portion = self._unsent.take()
            given += len(portion)
            self._hand_over(portion)
        if self._unsent and not self._inbox.ended:
            self._writable.clear()
        elif self._socket.get_write_buffer_size() <= LOW_WATER:
            self._writable.set()
            self._answer_pings()
        self._end_stream()

    def _end_stream(self) -> None:
        if self._eof_due and not self._unsent and not self._socket.is_closing():
            self._eof_due = False
            # Half a close: a peer in the middle of a long send still gets to read why. One that
            # is gone already, unnoticed while nothing was read from it, raises.
            with contextlib.suppress(OSError):
                self._socket.write_eof()

    def _ended(self, code: int, reason: str, grace: float | None = None) -> None:
        if self._inbox.ended:
            return
        self._inbox.end(code, reason)
        self._partial = None
        self._full = False
        self._pings.clear()
        self._writable.set()
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        seconds = self._options.close_grace if grace is None else grace
        self._abort_timer = self._loop.call_later(seconds, self.abort)

    # Keep-alive.

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
            self._flush()

    def _plan_ping(self) -> None:
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        if self._options.ping_interval is not None and not self._inbox.ended:
            self._ping_timer = self._loop.call_later(self._options.ping_interval, self._ping)

    def _ping(self) -> None:
        self._heard = False
        self._protocol.send_ping(b"")
        self._flush()
        self._taken_at_ping = self._taken_by_peer
        if self._options.ping_timeout is not None:
            self._ping_timer = self._loop.call_later(self._options.ping_timeout, self._check_life)
        else:
            self._plan_ping()

    @property
    def _taken_by_peer(self) -> int:
        """Bytes that the operating system has accepted, which it does as the peer reads."""
        return self._written - self._socket.get_write_buffer_size()

    def _check_life(self) -> None:
        takes = self._taken_by_peer > self._taken_at_ping
        if self.backlog and not takes:
            # However much it may have to say itself.
            self.start_close(CloseCode.TRY_AGAIN_LATER, "stopped reading; reconnect to resume")
        elif self._heard or takes or not self._socket.is_reading():
            # The pong may be stuck behind a long download, or in a socket that we do not read.
            self._plan_ping()
        else:
            self.start_close(CloseCode.INTERNAL_ERROR, "no answer to a ping")


# The tuple joined last and the result, for the next connection in a row. One value, so that event
# loops in two threads cannot see half of it.
_last_join: tuple[Sequence[Encoded], bytes] = ((), b"")


def _join(messages: Sequence[Encoded]) -> bytes | None:
    """Return the frames of all messages, or None where one is too large to be copied."""
    global _last_join
    if len(messages) == 1:
        return messages[0].websocket if len(messages[0]) <= PORTION else None
    key, joined = _last_join
    if messages is not key:
        if any(len(message) > PORTION for message in messages):
            return None
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
