"""Messages as lines on two byte streams, such as standard input and output.

Owns the cutting of a stream into lines and the closing within a bounded time. What may stand
behind a descriptor is known to ``descriptors``; what the lines mean, to nobody here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence

from agenthost.errors import RemoteProtocolError
from agenthost.host.transports.descriptors import ByteReader, open_streams
from agenthost.transport import LOW_WATER, CloseCode, Encoded, ReceiveQueue

log = logging.getLogger(__name__)


# Largest message accepted, in bytes; a whole file may travel base64 in one.
_MAX_MESSAGE_SIZE = 16 * 1024 * 1024

# Reading pauses while this much, or this many, messages wait to be received.
_INBOX_BYTES = 1024 * 1024
_INBOX_MESSAGES = 256

# Bytes read at once: what a Linux pipe holds.
_CHUNK = 64 * 1024

# Seconds that the last output gets to leave.
_CLOSE_GRACE = 2.0


class LineTooLong(RemoteProtocolError):
    """A line exceeds the largest message."""


class LineSplitter:
    """Bytes in, whole lines out, however the bytes are cut."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        # The beginning of a line whose end has not come.
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that ``data`` completes, without their ends; blank ones are left out.

        Raises:
            LineTooLong: the line after those yielded is longer than the limit.
        """
        *ended, rest = data.split(b"\n")
        for end in ended:
            self._extend(end)
            line = bytes(self._rest).strip()
            self._rest.clear()
            if line:
                yield line
        self._extend(rest)

    def _extend(self, data: bytes) -> None:
        if len(self._rest) + len(data) > self._max_size:
            raise LineTooLong
        self._rest += data

    def last(self) -> bytes:
        """Return what stands after the last line end: a line whose writer left off its end."""
        return bytes(self._rest).strip()


class StdioTransport:
    """A ``Transport`` that sends and receives one message per line.

    The end of input is not the end of output: the answers to a peer that has said all it wanted
    still leave, until ``close``. A stream carries no code, so the end of input counts as 1000.
    """

    def __init__(
        self,
        reader: ByteReader,
        writer: asyncio.StreamWriter,
        *,
        peer: str = "stdio",
        max_message_size: int = _MAX_MESSAGE_SIZE,
        close_grace: float = _CLOSE_GRACE,
        on_closed: Callable[[], None] | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._peer = peer
        self._close_grace = close_grace
        self._on_closed = on_closed
        self._splitter = LineSplitter(max_message_size)
        self._inbox = ReceiveQueue(on_take=self._taken)
        # Set while the inbox has room.
        self._room = asyncio.Event()
        # Set once nothing can be written any more, and once the output is gone.
        self._closed = asyncio.Event()
        self._gone = asyncio.Event()
        # Ends a closing that takes too long.
        self._abort_timer: asyncio.TimerHandle | None = None
        writer.transport.set_write_buffer_limits(high=LOW_WATER, low=LOW_WATER)
        self._input_task = asyncio.create_task(self._read(), name=f"{peer} input")
        self._output_task = asyncio.create_task(self._watch_output(), name=f"{peer} output")

    async def receive(self) -> bytes:
        """Return the next line; see ``Transport.receive``."""
        return await self._inbox.take()

    def write(self, messages: Sequence[Encoded]) -> None:
        """Send lines in one write; see ``Transport.write``."""
        if messages and not self._closed.is_set():
            self._writer.write(b"".join([message.line for message in messages]))

    @property
    def backlog(self) -> int:
        """Bytes not yet accepted by the operating system."""
        return self._writer.transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait for a low backlog or the end."""
        # A lost connection raises here; `_watch_output` takes note of it.
        with contextlib.suppress(OSError):
            await self._writer.drain()

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Flush within the grace, then close the output."""
        self._start_close(code, reason)
        self._inbox.discard()
        await self._gone.wait()

    @property
    def closed(self) -> bool:
        """Whether the output is closed or closing."""
        return self._closed.is_set()

    @property
    def peer(self) -> str:
        """The name given to the other side."""
        return self._peer

    async def _read(self) -> None:
        try:
            while data := await self._reader.read(_CHUNK):
                for line in self._splitter.feed(data):
                    self._inbox.put(line)
                await self._wait_for_room()
            if last := self._splitter.last():
                self._inbox.put(last)
            self._inbox.end(CloseCode.NORMAL, "end of input")
        except LineTooLong:
            # The stream has no other way to say why it ends.
            log.warning("%s sent a line that is too long, so it is closed", self._peer)
            self._start_close(CloseCode.TOO_BIG, "a line is too long")
        except OSError:
            self._inbox.end(CloseCode.ABNORMAL, "the input failed")

    async def _wait_for_room(self) -> None:
        if not self._has_room():
            self._room.clear()
            await self._room.wait()

    def _has_room(self) -> bool:
        return self._inbox.size <= _INBOX_BYTES and len(self._inbox) <= _INBOX_MESSAGES

    def _taken(self) -> None:
        if self._has_room():
            self._room.set()

    def _start_close(self, code: int, reason: str) -> None:
        self._inbox.end(code, reason)
        if not self._closed.is_set():
            self._closed.set()
            self._input_task.cancel()
            self._writer.close()
            loop = asyncio.get_running_loop()
            self._abort_timer = loop.call_later(self._close_grace, self._writer.transport.abort)

    async def _watch_output(self) -> None:
        try:
            await self._writer.wait_closed()
        except OSError:
            pass
        finally:
            self._inbox.end(CloseCode.ABNORMAL, "the output is closed")
            self._closed.set()
            self._input_task.cancel()
            if self._abort_timer is not None:
                self._abort_timer.cancel()
            if self._on_closed is not None:
                self._on_closed()
            self._gone.set()


async def open_stdio(
    stdin: int = 0,
    stdout: int = 1,
    *,
    peer: str = "stdio",
    max_message_size: int = _MAX_MESSAGE_SIZE,
    close_grace: float = _CLOSE_GRACE,
) -> StdioTransport:
    """Return a transport over two descriptors: pipes, sockets, terminals or files.

    The descriptors stay the caller's, and blocking as they were once the transport is closed.
    """
    cleanup = contextlib.ExitStack()
    reader, writer = await open_streams(stdin, stdout, cleanup)
    return StdioTransport(
        reader,
        writer,
        peer=peer,
        max_message_size=max_message_size,
        close_grace=close_grace,
        on_closed=cleanup.close,
    )
