"""The demo agent at work in a folder of its own, for those who test what it shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.wire.hosting import ServedHost
from tests.wire.talking import Chat, at_chat, call_in

__all__ = ["OPTIONS", "asked", "demo"]

Json = dict[str, Any]

# What it offers when it asks for an approval.
OPTIONS = ["allow-once", "allow-in-session", "deny", "deny-with-reason"]


@asynccontextmanager
async def demo(
    host: ServedHost | str, folder: Path, *versions: str, **options: Any
) -> AsyncIterator[Chat]:
    """Clients at a session that works in a folder of its own, named after the test's."""
    url = host if isinstance(host, str) else host.url
    options = {"workingDirectories": [folder.as_uri()], **options}
    async with at_chat(url, folder.name, *versions, **options) as chat:
        yield chat


async def asked(chat: Chat, turn_id: str, text: str, status: str = "pending-confirmation") -> Json:
    """Start a turn and wait until everybody sees that its tool call waits for somebody."""
    await chat.start(turn_id, text)
    for client in chat.clients:
        call = await call_in(client, chat.uri, status)
    return call
