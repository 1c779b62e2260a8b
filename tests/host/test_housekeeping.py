"""What the host does now and then by itself ends when the host does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agenthost.agents import Agent, Turn
from agenthost.client import connect
from agenthost.clock import SystemClock
from agenthost.host import Host, MemoryStore, housekeeping
from agenthost.host.channels.session.trash import KEPT_DAYS, TRASH, TRASHED
from agenthost.host.housekeeping import collect_drafts
from agenthost.host.store import MemoryBacking
from tests.flags import eventually

PATIENCE = 10.0


# Loop iterations between the news of a setting and the end: each finds the news elsewhere.
@pytest.mark.parametrize("steps", range(6))
async def test_looking_for_drafts_ends_though_a_setting_changes_just_then(steps: int) -> None:
    changed: list[Callable[[object], None]] = []
    looked = asyncio.Event()

    async def look(seconds: float) -> None:
        looked.set()

    config = SimpleNamespace(
        on_change=lambda key, tell: changed.append(tell), seconds=lambda key: 3600.0
    )
    core = cast(
        "Any", SimpleNamespace(config=config, sessions=SimpleNamespace(collect_drafts=look))
    )
    collecting = asyncio.create_task(collect_drafts(core))
    await looked.wait()
    await asyncio.sleep(0)
    changed[0](None)
    for _ in range(steps):
        await asyncio.sleep(0)
    collecting.cancel()
    await asyncio.wait({collecting}, timeout=PATIENCE)
    has_ended = collecting.done()
    collecting.cancel()
    assert has_ended


class Calendar(SystemClock):
    """The machine's clocks, so many days later."""

    def __init__(self) -> None:
        super().__init__()
        self.days = 0

    def now(self) -> str:
        moment = datetime.fromisoformat(super().now()) + timedelta(days=self.days)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Keeping(Agent):
    """Answers with content that the host keeps beside the chat."""

    provider = "keeping"
    display_name = "Keeping"

    async def run(self, turn: Turn) -> None:
        await turn.attach(turn.text.encode())


async def test_what_was_in_the_trash_too_long_goes_with_its_content_and_the_rest_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(housekeeping, "TRASH_INTERVAL", 0.01)
    backing, clock = MemoryBacking(), Calendar()
    async with (
        Host([Keeping()], store=MemoryStore(backing), clock=clock) as host,
        connect(await host.listen(port=0)) as client,
    ):
        sessions: list[str] = []
        for text in ("old", "young"):
            session = await client.sessions.create()
            await (await session.chat()).ask(text)
            await session.dispose()
            sessions.append(session.uri)
            clock.days += 1
        old, young = sessions
        assert {entry["session"] for entry in await client.sessions.trash()} == {old, young}
        assert {blob.data for blob in backing.blobs.values()} == {b"old", b"young"}
        clock.days = KEPT_DAYS
        await eventually(lambda: len(backing.blobs) < 2)
        await host.core.writer.ledger.settle()
        assert [blob.data for blob in backing.blobs.values()] == [b"young"]
        for bucket in (TRASH, TRASHED):
            assert backing.records[bucket].keys() == {young}
        await client.sessions.restore(young)
        chat = await (await client.sessions.get(young)).chat()
        assert [turn["message"]["text"] for turn in chat.state["turns"]] == ["young"]
