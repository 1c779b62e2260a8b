"""What tests do with a chat of a real host."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agenthost.client import (
    Chat,
    ChatEvent,
    Client,
    Session,
    Text,
)
from agenthost.protocol import SUPPORTED_VERSIONS

__all__ = ["EACH_VERSION", "collect", "drain", "open_chat", "text_of"]

EACH_VERSION = pytest.mark.parametrize("version", SUPPORTED_VERSIONS)


async def open_chat(client: Client) -> tuple[Session, Chat]:
    session = await client.sessions.create()
    return session, await session.chat()


async def collect(
    chat: Chat, text: str, act: Callable[[ChatEvent], object] = lambda event: None
) -> list[ChatEvent]:
    """Send a message, act on what happens, and return all events."""
    events: list[ChatEvent] = []
    async for event in chat.send(text):
        events.append(event)
        act(event)
    return events


def text_of(events: list[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


async def drain(iterator: AsyncIterator[Any]) -> None:
    async for _ in iterator:
        pass
