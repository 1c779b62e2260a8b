"""Response parts that lack what they must have: they are passed on, and stop nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.client import Chat, ChatEvent, Client, PartAdded, Text, TurnEnded
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.client.scripted import CHAT, PATIENCE, SESSION, ScriptedHost, Side, snapshot

EACH_VERSION = pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
KINDLESS: dict[str, Any] = {"id": "p", "content": "of no kind"}


def started(*parts: Any) -> dict[str, Any]:
    message = {"text": "hi", "origin": {"kind": "user"}}
    turn = {"id": "t", "startedAt": "2026-01-01T00:00:00.000Z", "message": message}
    return {**turn, "responseParts": list(parts)}


@asynccontextmanager
async def opened(version: str, **state: Any) -> AsyncIterator[tuple[Client, Side, Chat]]:
    host = ScriptedHost()
    client = host.client()
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client, version=version)
        try:
            following = asyncio.create_task(client.sessions.get(SESSION))
            await side.subscribed(snapshot(SESSION, 10))
            opening = asyncio.create_task((await following).chat())
            await side.subscribed(snapshot(CHAT, 10, **state))
            yield client, side, await opening
        finally:
            await client.aclose()


async def ended(chat: Chat) -> list[ChatEvent]:
    events: list[ChatEvent] = []
    async for event in chat.events():
        events.append(event)
        if isinstance(event, TurnEnded):
            return events
    raise AssertionError("events never end by themselves")


@EACH_VERSION
async def test_a_part_without_a_kind_does_not_end_the_events_of_a_chat(version: str) -> None:
    async with opened(version, activeTurn=started()) as (_, side, chat):
        reading = asyncio.create_task(ended(chat))
        await asyncio.sleep(0)
        part = {"type": "chat/responsePart", "turnId": "t"}
        side.action(CHAT, 11, {**part, "part": KINDLESS})
        side.action(CHAT, 12, {**part, "part": {"kind": "markdown", "id": "q", "content": "on"}})
        side.action(CHAT, 13, {"type": "chat/turnComplete", "turnId": "t", "duration": 1})
        serving = asyncio.create_task(reread(side))
        events = await reading
        serving.cancel()
        assert [event.text for event in events if isinstance(event, Text)] == ["on"]
        (added,) = [event for event in events if isinstance(event, PartAdded)]
        assert added.part == KINDLESS


async def reread(side: Side) -> None:
    """Answer with the whole chat, should it be asked for."""
    parts = [KINDLESS, {"kind": "markdown", "id": "q", "content": "on"}]
    done = {**started(*parts), "state": "complete", "duration": 1}
    while True:
        await side.subscribed(snapshot(CHAT, 13, turns=[done]))


@EACH_VERSION
async def test_a_chat_with_a_part_without_a_kind_can_be_opened_and_acted_on(version: str) -> None:
    async with opened(version, activeTurn=started(KINDLESS)) as (client, side, chat):
        following = chat.follow()
        assert following is not None
        cancelling = chat.cancel()
        assert cancelling is not None
        sent = await side.next("dispatchAction")
        with pytest.raises(LookupError):
            chat.approve("nothing")
        with pytest.raises(LookupError):
            chat.answer("nothing", "x")
        del sent, client
