"""A connection to a remote host that is not trusted, with bounds on what it takes in.

What comes faster waits in the sockets, and with it the far host. Messages share a thread with
nothing of this host, but the interpreter with all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agenthost.client.link.supervisor import Dial
from agenthost.transport import CloseCode, Encoded, Transport

# Messages and bytes that are taken in per second, and at once after a pause.
MOST_MESSAGES = 1_000.0
MOST_BYTES = 8.0 * 1024 * 1024
# Bytes of one message, above which the connection ends.
MOST_MESSAGE = 16 * 1024 * 1024


def metered(dial: Dial) -> Dial:
    """Return a function that connects as another one does, and reads at a bounded pace."""

    async def dial_metered() -> Transport:
        return MeteredTransport(await dial())

    return dial_metered


class MeteredTransport:
    """A ``Transport`` that delivers messages at a bounded pace."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        # Seconds' worth of messages that may still come at once, and when that was so.
        self._credit = 1.0
        self._counted_at = asyncio.get_running_loop().time()

    async def receive(self) -> bytes:
        """Return the next message, not before there is time for it."""
        if self._credit < 0:
            await asyncio.sleep(-self._credit)
        message = await self._inner.receive()
        now = asyncio.get_running_loop().time()
        self._credit = min(1.0, self._credit + now - self._counted_at)
        self._counted_at = now
        self._credit -= max(1 / MOST_MESSAGES, len(message) / MOST_BYTES)
        return message

    def write(self, messages: Sequence[Encoded]) -> None:
        """Send messages."""
        self._inner.write(messages)

    @property
    def backlog(self) -> int:
        """Bytes not yet accepted by the operating system."""
        return self._inner.backlog

    async def drained(self) -> None:
        """Wait for a low backlog or the end."""
        await self._inner.drained()

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """End the connection."""
        await self._inner.close(code, reason)

    @property
    def closed(self) -> bool:
        """Whether nothing written from now on can reach the host."""
        return self._inner.closed

    @property
    def peer(self) -> str:
        """The host's address without secrets."""
        return self._inner.peer
