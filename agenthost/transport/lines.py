"""One message per line over two byte streams: standard input and output, or a process's.

Owns what waits to be received, and back-pressure both ways.
How such a connection ends differs from one carrier to another.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from agenthost.line_splitting import CHUNK, LineSplitter, LineTooLong
from agenthost.transport.contract import LOW_WATER, CloseCode, Encoded
from agenthost.transport.receive_queue import ReceiveQueue


class ByteReader(Protocol):
    """Where the bytes come from; an ``asyncio.StreamReader`` is one."""

    async def read(self, n: int) -> bytes:
        """Return up to ``n`` bytes, none at the end."""
        ...


class LineTransport(ABC):
    """The part of a ``Transport`` that all carriers of lines share: everything but the end.

    Reading pauses while ``queue_bytes``, or ``queue_messages``, wait to be received.
    """

    def __init__(
        self,
        reader: ByteReader,
        writer: asyncio.StreamWriter,
        *,
        peer: str,
        max_line: int,
        queue_bytes: int,
        queue_messages: int = sys.maxsize,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._peer = peer
        self._queue_bytes = queue_bytes
        self._queue_messages = queue_messages
        self._splitter = LineSplitter(max_line)
        self._queue = ReceiveQueue(on_take=self._taken)
        # Set while the queue has room.
        self._room = asyncio.Event()
        self._closed = False
        writer.transport.set_write_buffer_limits(high=LOW_WATER, low=LOW_WATER)
        self._input_task = asyncio.create_task(self._read(), name=f"{peer} input")

    async def receive(self) -> bytes:
        """Return the next line; see ``Transport.receive``."""
        return await self._queue.take()

    def write(self, messages: Sequence[Encoded]) -> None:
        """Send lines in one write; see ``Transport.write``."""
        if messages and not self.closed:
            self._writer.write(b"".join([message.line for message in messages]))

    @property
    def backlog(self) -> int:
        """Bytes not yet accepted by the operating system."""
        return self._writer.transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait for a low backlog or the end."""
        # A lost connection raises here; whoever waits for the end takes note of it.
        with contextlib.suppress(OSError):
            await self._writer.drain()

    @property
    def closed(self) -> bool:
        """Whether the output is closed or closing, or nobody reads it any more."""
        return self._closed or self._writer.is_closing()

    @property
    def peer(self) -> str:
        """The name given to the other side."""
        return self._peer

    @abstractmethod
    def _input_ended(self, failure: tuple[int, str] | None) -> None:
        """Take note that nothing more comes in; ``failure`` is code and reason, if it failed."""

    async def _read(self) -> None:
        failure = None
        try:
            while data := await self._reader.read(CHUNK):
                for line in self._splitter.feed(data):
                    self._queue.put(line)
                if not self._has_room():
                    self._room.clear()
                    await self._room.wait()
        except LineTooLong:
            failure = (CloseCode.TOO_BIG, "a line is too long")
        except OSError:
            failure = (CloseCode.ABNORMAL, "the input failed")
        self._input_ended(failure)

    def _has_room(self) -> bool:
        queue = self._queue
        return queue.size <= self._queue_bytes and len(queue) <= self._queue_messages

    def _taken(self) -> None:
        if self._has_room():
            self._room.set()
