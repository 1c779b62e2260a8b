"""The far end of ``ssh://``: joins standard input and output to the host of this machine.

Carries whole messages and knows nothing of what they say.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import BinaryIO

from agenthost.client.link.supervisor import Dial
from agenthost.transport import CloseCode, Encoded, Transport, TransportClosed
from agenthost.transport.lines import LineTransport

GREETING = b"agenthost-relay 1"
"""The first line of a relay. What comes before it was printed by the shell that started it."""

# Bytes of one message; the host has a limit of its own.
_MOST_LINE = 256 * 1024 * 1024
# Reading pauses while this much waits to be received.
_QUEUE_BYTES = 1024 * 1024
# Seconds that the last output gets to leave.
_CLOSE_GRACE = 2.0


async def relay(dial: Dial, stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> None:
    """Connect to a host, greet, and carry messages both ways until either side ends.

    Raises:
        CannotConnect, NotAdmitted, NoHost: the host cannot be reached.
    """
    host = await dial()
    streams = await _open(stdin or sys.stdin.buffer, stdout or sys.stdout.buffer)
    try:
        streams.greet()
        ways = (_carry(streams, host), _carry(host, streams))
        tasks = [asyncio.create_task(way, name="relay") for way in ways]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        await asyncio.gather(host.close(), streams.close())


async def _carry(source: Transport, target: Transport) -> None:
    with contextlib.suppress(TransportClosed):
        while not target.closed:
            target.write([Encoded(await source.receive())])
            await target.drained()


class StandardStreams(LineTransport):
    """A ``Transport`` over the standard streams of this process."""

    def greet(self) -> None:
        """Say that messages follow."""
        self._writer.write(GREETING + b"\n")

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Let the last output leave, within the grace."""
        self._closed = True
        self._queue.end(code, reason)
        self._input_task.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_GRACE):
                await self._writer.wait_closed()

    def _input_ended(self, failure: tuple[int, str] | None) -> None:
        self._queue.end(*failure or (CloseCode.NORMAL, "end of input"))


async def _open(stdin: BinaryIO, stdout: BinaryIO) -> StandardStreams:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
    # The protocol only keeps count of what waits to be written.
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), stdout
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    return StandardStreams(
        reader, writer, peer="stdio", max_line=_MOST_LINE, queue_bytes=_QUEUE_BYTES
    )
