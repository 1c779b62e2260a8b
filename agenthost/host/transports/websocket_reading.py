"""The receiving half of a WebSocket: from bytes to messages, as fast as they may come.

Nothing that the peer does makes this grow: what comes in is parsed as fast as its rate allows and
its messages are taken. The library's sans-I/O protocol does the parsing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from agenthost.host.trust.large_messages import LargeMessages
from agenthost.host.trust.limits import RateLimiter
from agenthost.transport import CloseCode, ReceiveQueue

# What a browser offers beside its token.
SUBPROTOCOL = Subprotocol("ahp")

# Bytes read at once, and parsed at once: of the smallest frames that is ten milliseconds' work.
_READ_BYTES = 64 * 1024
_PARSED_BYTES = 8 * 1024
# Frames parsed in a row before others have their turn.
_PARSED_FRAMES = 512
# What parsing a frame costs besides its bytes, in bytes' worth.
_FRAME_COST = 1024
# Seconds between two looks whether a large message may go on to arrive.
_SEAT_PAUSE = 0.1


class _ReadBuffer(threading.local):
    """Where sockets put what they received; one for all of a thread's, because it is taken out
    at once, and idle connections should cost little."""

    def __init__(self) -> None:
        self.memory = memoryview(bytearray(_READ_BYTES))


read_buffer = _ReadBuffer()


class PatientProtocol(ServerProtocol):
    """The library's protocol, able to put off the answers to pings.

    Chooses ``ahp`` of the subprotocols that are offered, and never one that holds a token.
    """

    # Asked with each ping's data; whoever says yes will answer it.
    put_off: Callable[[bytes], bool] | None = None

    def select_subprotocol(self, subprotocols: Sequence[Subprotocol]) -> Subprotocol | None:
        """Return the one to speak; without any a browser that offered some would hang up."""
        return SUBPROTOCOL if SUBPROTOCOL in subprotocols else None

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


class FrameReader:
    """Parses what a socket brings and queues the messages; pauses the socket meanwhile.

    ``rate`` limits what is parsed, in bytes, and ``large`` which messages may become large.
    ``on_pong`` is told of pongs, ``on_end`` with code and reason that nothing more will come,
    ``on_parsed`` that the protocol may have answers, ``on_too_slow`` that a message took too long.
    """

    def __init__(
        self,
        sock: asyncio.Transport,
        protocol: PatientProtocol,
        rate: RateLimiter | None,
        large: LargeMessages | None,
        *,
        queue_bytes: int,
        queue_messages: int,
        on_pong: Callable[[], None],
        on_end: Callable[[int, str], None],
        on_parsed: Callable[[], None],
        on_too_slow: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = sock
        self._protocol = protocol
        self._rate = rate
        self._large = large
        self._queue_bytes = queue_bytes
        self._queue_messages = queue_messages
        self._on_pong = on_pong
        self._on_end = on_end
        self._on_parsed = on_parsed
        self._on_too_slow = on_too_slow
        self.queue = ReceiveQueue(on_take=self._taken)
        # The message whose fragments are arriving; a bytearray, so that empty ones cost nothing.
        self._partial: bytearray | None = None
        # Whether what has arrived of messages is so much that it has a seat.
        self._is_large = False
        # Received and not parsed yet: the queue is full, or the rate used up.
        self._unparsed = b""
        # Whether the queue is full, and what ends a wait for the rate.
        self._full = False
        self._rate_timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        """Parse what came in, answer control frames, queue messages."""
        self._unparsed += data
        self._parse()

    def end(self, code: int, reason: str) -> None:
        """Queue no further message; how the connection ended is told after the last one."""
        self.queue.end(code, reason)
        self._partial = None
        self._full = False

    def discard(self) -> None:
        """Drop the messages that nobody has taken, and read on."""
        self.queue.discard()
        # The peer's own close frame may wait behind what the queue had no room for.
        self._full = False
        self._read_on()

    def stop(self) -> None:
        """Drop what was not parsed; the socket is gone."""
        if self._rate_timer is not None:
            self._rate_timer.cancel()
        self._unparsed = b""
        self._partial = None
        # The parser is part of a cycle, and may be found much later.
        self._protocol.reader.discard()
        if self._large is not None:
            self._large.leave(self)

    def give_up(self) -> None:
        """End the connection, because its message took too long while others wait."""
        self._on_too_slow()

    def _parse(self) -> None:
        """Parse what was received, as far as rate and queue allow."""
        frames, position, data = 0, 0, self._unparsed
        while position < len(data) and not self._full and self._rate_timer is None:
            if frames > _PARSED_FRAMES:
                self._wait_for_rate(0)
                break
            if self._large is not None and not self._may_grow(self._large):
                self._wait_for_rate(_SEAT_PAUSE)
                break
            part = data[position : position + _PARSED_BYTES]
            if self._rate is not None and (wait := self._rate.take(self._loop.time(), len(part))):
                self._wait_for_rate(wait)
                break
            position += len(part)
            frames += self._parse_part(part)
        self._unparsed = data[position:]
        self._update_reading()

    def _may_grow(self, large: LargeMessages) -> bool:
        """Say whether more may be added to what has arrived of messages."""
        if self._held() <= large.small:
            return True
        # Nobody takes it any more once the queue has ended.
        self._is_large = not self.queue.ended and large.may_grow(self, self._loop.time())
        return self._is_large

    def _held(self) -> int:
        # What the parser has of a frame, the fragments before it, and what nobody has taken.
        return len(self._protocol.reader.buffer) + len(self._partial or b"") + self.queue.size

    def _parse_part(self, data: bytes) -> int:
        """Parse some bytes and return how many frames they ended."""
        self._protocol.receive_data(data)
        frames = self._protocol.events_received()
        for frame in frames:
            if isinstance(frame, Frame):
                self._frame_received(frame)
        if self._rate is not None:
            self._rate.charge(len(frames) * _FRAME_COST)
        if self._protocol.state is not OPEN and not self.queue.ended:
            # The parser met an error and said so in a close frame.
            sent = self._protocol.close_sent
            self._on_end(sent.code if sent else CloseCode.ABNORMAL, sent.reason if sent else "")
        self._on_parsed()
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
            case Opcode.PONG:
                self._on_pong()
            case Opcode.CLOSE if self._protocol.close_rcvd is not None:
                received = self._protocol.close_rcvd
                self._on_end(received.code, received.reason)

    def _deliver(self, message: bytes) -> None:
        self.queue.put(message)
        if not self.queue.ended and (
            self.queue.size > self._queue_bytes or len(self.queue) > self._queue_messages
        ):
            self._full = True

    def _taken(self) -> None:
        if self._is_large and self._large is not None and self._held() <= self._large.small:
            self._is_large = False
            self._large.leave(self)
        if (
            self._full
            and self.queue.size <= self._queue_bytes // 2
            and len(self.queue) <= self._queue_messages // 2
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
