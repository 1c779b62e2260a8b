"""A host that was put back from a backup: nobody takes what is new for what they saw before."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agenthost.host.backup import restore_backup, save_backup
from tests.wire.client import ROOT, WireClient, open_client
from tests.wire.hosting import ServedHost, serve
from tests.wire.mirrors import assert_mirrors

SESSION = "ahp-session:/s1"
NOW = 1_800_000_000.0


def put_back(backup: Path, data_dir: Path) -> None:
    with open(backup, "rb") as source:
        restore_backup(source, data_dir, now=NOW)


async def talked(host: ServedHost) -> str:
    async with open_client(host.url, "away") as client:
        await client.initialize(ROOT)
        return await client.used_session(SESSION)


async def seen_more(host: ServedHost, chat: str) -> WireClient:
    """Follow a chat for one turn, which the backup does not hold."""
    async with open_client(host.url, "away") as client:
        await client.initialize(ROOT)
        await client.subscribe(SESSION)
        await client.subscribe(chat)
        await client.run_turn(chat, "lost", "hello")
        return client


async def test_who_saw_more_than_the_backup_holds_is_sent_the_states(tmp_path: Path) -> None:
    data, backup, elsewhere = tmp_path / "data", tmp_path / "b.tar", tmp_path / "elsewhere"
    async with serve(data) as host:
        chat = await talked(host)
        # Stopped, it has given back the numbers that it had reserved: they come again, and on
        # another machine nothing tells which of them.
        await host.stop()
        await asyncio.to_thread(save_backup, data, backup, now=NOW)
        await host.start()
        away = await seen_more(host, chat)
    await asyncio.to_thread(put_back, backup, elsewhere)
    async with serve(elsewhere) as host, open_client(host.url, "other") as other:
        await other.initialize(ROOT)
        await other.subscribe(chat)
        for turn in ("t2", "t3", "t4"):
            await other.run_turn(chat, turn, "hello again")
        # Without a gap there would be events with the numbers that follow the one seen last.
        assert other.last_seen > away.last_seen
        async with open_client(host.url, "away") as client:
            answer = await client.resume(away)
            assert answer["type"] == "snapshot"
            turns = [turn["id"] for turn in client.states[chat]["turns"]]
            assert turns == ["t1", "t2", "t3", "t4"]
            await assert_mirrors(client)
