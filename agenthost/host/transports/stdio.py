"""The host on standard input and output: one message per line.

Owns the closing within a bounded time. What may stand behind a descriptor is known to
``descriptors``, how lines are cut to ``agenthost.transport.lines``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from agenthost.host.transports.descriptors import open_streams
from agenthost.transport import CloseCode
from agenthost.transport.lines import ByteReader, LineTransport

log = logging.getLogger(__name__)


# Largest message accepted, in bytes; a whole file may travel base64 in one.
_MAX_MESSAGE_SIZE = 16 * 1024 * 1024

# Reading pauses while this much, or this many, messages wait to be received.
_QUEUE_BYTES = 1024 * 1024
_QUEUE_MESSAGES = 256

# Seconds that the last output gets to leave.
_CLOSE_GRACE = 2.0


class StdioTransport(LineTransport):
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
        super().__init__(
            reader,
            writer,
            peer=peer,
            max_line=max_message_size,
            queue_bytes=_QUEUE_BYTES,
            queue_messages=_QUEUE_MESSAGES,
        )
        self._close_grace = close_grace
        self._on_closed = on_closed
        # Set once the output is gone.
        self._gone = asyncio.Event()
        # Ends a closing that takes too long.
        self._abort_timer: asyncio.TimerHandle | None = None
        self._output_task = asyncio.create_task(self._watch_output(), name=f"{peer} output")

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Flush within the grace, then close the output."""
        self._start_close(code, reason)
        self._queue.discard()
        await self._gone.wait()

    def _input_ended(self, failure: tuple[int, str] | None) -> None:
        if failure is None and (last := self._splitter.last()):
            self._queue.put(last)
        code, reason = failure or (CloseCode.NORMAL, "end of input")
        self._queue.end(code, reason)
        if code == CloseCode.TOO_BIG:
            # The stream has no other way to say why it ends.
            log.warning("%s sent a line that is too long, so it is closed", self._peer)
            self._start_close(code, reason)

    def _start_close(self, code: int, reason: str) -> None:
        self._queue.end(code, reason)
        if not self._closed:
            self._closed = True
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
            self._queue.end(CloseCode.ABNORMAL, "the output is closed")
            self._closed = True
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
