"""What belongs in a server's log, gathered and bounded on its way to the host."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agenthost.mcp.limits import LOG_INTERVAL, MOST_LOG_RATE, TAIL


class LogOutput:
    """Sends on what a server prints, at most so much in a while, and remembers the end of it."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._waiting = bytearray()
        # Bytes that came too fast.
        self._left_out = 0
        self._some = asyncio.Event()
        self._tail = b""

    @property
    def tail(self) -> str:
        """The last that was printed, in short."""
        text = self._tail.decode(errors="replace").strip()
        return text if len(text) <= TAIL else "…" + text[-TAIL:]

    def add(self, data: bytes, *, error: bool = False) -> None:
        """Take something for the log; ``error`` says that it may explain a failure."""
        if error:
            self._tail = (self._tail + data)[-4 * TAIL :]
        room = MOST_LOG_RATE - len(self._waiting)
        self._waiting += data[:room]
        self._left_out += max(0, len(data) - room)
        self._some.set()

    async def run(self) -> None:
        """Send on what comes, for ever."""
        while True:
            await self._some.wait()
            await self.flush()
            await asyncio.sleep(LOG_INTERVAL)

    async def flush(self, *, everything: bool = False) -> None:
        """Send on what there is; the beginning of a line waits once for the rest of it."""
        self._some.clear()
        end = 0 if everything or self._left_out else self._waiting.rfind(b"\n") + 1
        end = end or len(self._waiting)
        data = bytes(self._waiting[:end])
        del self._waiting[:end]
        if self._waiting:
            self._some.set()
        if self._left_out:
            data += b"" if data.endswith(b"\n") else b"\n"
            data += b"[%d bytes came too fast and are left out]\n" % self._left_out
            self._left_out = 0
        if data:
            await self._send(data)
