"""JSON lines over a child process's pipes, as a transport for the ``acp`` package.

Adds what the package leaves open: reading stops while those who work on messages are behind, a
line that is no message is skipped, and a line without end ends the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

log = logging.getLogger(__name__)

Message = dict[str, Any]

# Updates that are of use here; all others, and those of later versions, are skipped.
UPDATES = frozenset(
    {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "current_mode_update",
        "config_option_update",
        "usage_update",
    }
)


class AcpLineTransport:
    """Messages to and from a process."""

    def __init__(
        self,
        name: str,
        stdout: asyncio.StreamReader,
        stdin: asyncio.StreamWriter,
        has_room: Callable[[], Awaitable[None]],
    ) -> None:
        self._name = name
        self._stdout = stdout
        self._stdin = stdin
        self._has_room = has_room
        # Set when nothing more will be received.
        self.ended = asyncio.Event()
        # What the other side did wrong, if that is why it ended.
        self.trouble: str | None = None

    async def send(self, message: Message) -> None:
        """Send a message; one that nobody can receive any more is lost, as the reader will see."""
        with contextlib.suppress(ConnectionError):
            self._stdin.write(orjson.dumps(message) + b"\n")
            await self._stdin.drain()

    async def receive(self) -> Message | None:
        """Return the next message, or None when there will be no more."""
        while (line := await self._next_line()) is not None:
            message = self._read(line)
            if message is not None:
                return message
        self.ended.set()
        return None

    async def close(self) -> None:
        """Send nothing more."""
        self._stdin.close()

    async def _next_line(self) -> bytes | None:
        await self._has_room()
        # A line that is there already is read without a pause; its predecessors' handlers need one.
        await asyncio.sleep(0)
        try:
            return await self._stdout.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            self.trouble = "sent a message that is too large"
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        return None

    def _read(self, line: bytes) -> Message | None:
        if not line.strip():
            return None
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            log.debug("%s printed a line that is no message", self._name)
            return None
        if not isinstance(message, dict) or _is_foreign(message):
            return None
        return message


def _is_foreign(message: Message) -> bool:
    if message.get("method") != "session/update":
        return False
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    return not isinstance(update, dict) or update.get("sessionUpdate") not in UPDATES
