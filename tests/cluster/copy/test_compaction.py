"""Long tails become snapshots, in the background, and nothing that was said is lost by it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agenthost.cluster.copy import LocalCopy, compaction
from agenthost.cluster.numbers import number
from agenthost.host.store import DropChannel, DropRecord
from tests.cluster.copy.hand_driven import HandDrivenRealm, created, said

SESSION, CHAT = "session:/1", "chat:/1"


@pytest.fixture(autouse=True)
def short_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SMALLEST_TAIL", 20_000)


async def until_tail_is_short(copy: LocalCopy) -> None:
    async with asyncio.timeout(20):
        while True:
            stored = await copy.store.load_channel(CHAT)
            if stored is not None and len(stored.tail) < 300:
                return


async def test_a_long_tail_is_folded_into_a_snapshot(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    for n in range(2_000):
        realm.append(SESSION, said(CHAT, str(n)))
    async with LocalCopy(tmp_path / "n", None, None, source=realm) as copy:
        async with asyncio.timeout(20):
            await copy.reached(realm.last)
        await until_tail_is_short(copy)
        stored = await copy.store.load_channel(CHAT)
        assert stored is not None
        assert stored.kind == "chat"
        folded = int(json.loads(stored.state)["draft"]["text"])
        # It holds exactly the entries up to its number, and the tail goes on right there.
        assert stored.seq == number(2 + folded, 0)
        assert len(stored.tail) == 1_999 - folded
        # Clients that were away can be replayed.
        assert len(await copy.store.read_after(0, [CHAT])) == 2_000


async def test_a_tail_from_before_the_start_is_folded_too(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    for n in range(1_000):
        realm.append(SESSION, said(CHAT, str(n)))
    with monkeypatch.context() as patch:
        patch.setattr(compaction, "SMALLEST_TAIL", 1 << 40)
        async with LocalCopy(tmp_path / "n", None, None, source=realm) as copy:
            async with asyncio.timeout(20):
                await copy.reached(realm.last)
    async with LocalCopy(tmp_path / "n", None, None, source=realm) as copy:
        await until_tail_is_short(copy)


async def test_old_entries_go_once_they_are_far_behind(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "REPLAY_WINDOW", 500)
    realm.append(SESSION, *created(SESSION, CHAT))
    for n in range(2_000):
        realm.append(SESSION, said(CHAT, str(n)))
    async with LocalCopy(tmp_path / "n", None, None, source=realm) as copy:
        async with asyncio.timeout(20):
            await copy.reached(realm.last)
            while True:
                # In this order: the log may be cut again in between.
                trimmed = (await copy.store.channel_positions([CHAT]))[CHAT]
                left = await copy.store.read_after(0, [CHAT])
                if len(left) < 2_000:
                    break
        assert left[0].seq > trimmed
        assert len(left) >= 500


async def test_a_channel_that_is_dropped_meanwhile_does_not_come_back(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folding, go_on = asyncio.Event(), asyncio.Event()
    fold = compaction._folded

    async def slow(*args: object) -> bytes:
        folding.set()
        await go_on.wait()
        return await fold(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(compaction, "_folded", slow)
    realm.append(SESSION, *created(SESSION, CHAT))
    for n in range(1_000):
        realm.append(SESSION, said(CHAT, str(n)))
    async with LocalCopy(tmp_path / "n", None, None, source=realm) as copy:
        async with asyncio.timeout(20):
            await folding.wait()
            await copy.reached(realm.append(SESSION, DropChannel(CHAT), DropRecord("owners", CHAT)))
            go_on.set()
            monkeypatch.setattr(compaction, "_folded", fold)
            # The compactor is through with it when it is through with another one.
            realm.append("session:/2", *created("session:/2", "chat:/2"))
            for n in range(1_000):
                realm.append("session:/2", said("chat:/2", str(n)))
            while True:
                other = await copy.store.load_channel("chat:/2")
                if other is not None and other.seq > number(realm.last - 999, 0):
                    break
        assert await copy.store.load_channel(CHAT) is None


async def test_a_channel_that_cannot_be_folded_holds_up_nobody(
    realm: HandDrivenRealm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    realm.append(SESSION, *created(SESSION, "chat:/bad"))
    realm.append("session:/2", *created("session:/2", CHAT))
    bad = said("chat:/bad", "x")
    bad.action = b"not json"
    for n in range(1_000):
        realm.append(SESSION, bad)
        realm.append("session:/2", said(CHAT, str(n)))
    async with LocalCopy(tmp_path / "n", None, None, source=realm) as copy:
        async with asyncio.timeout(20):
            await copy.reached(realm.last)
        await until_tail_is_short(copy)
        async with asyncio.timeout(20):
            while "chat:/bad' cannot be compacted" not in caplog.text:
                await copy.store.load_channel("chat:/bad")


async def test_the_feed_waits_for_a_tail_that_became_too_long(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "LONGEST_TAIL", 30_000)
    realm.append(SESSION, *created(SESSION, CHAT))
    for n in range(5_000):
        realm.append(SESSION, said(CHAT, str(n)))
    async with LocalCopy(tmp_path / "n", None, None, source=realm) as copy:
        longest = 0
        async with asyncio.timeout(60):
            while copy.position < realm.last:
                stored = await copy.store.load_channel(CHAT)
                longest = max(longest, 0 if stored is None else len(stored.tail))
            await copy.reached(realm.last)
        assert longest < 2_000
