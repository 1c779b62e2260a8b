"""What an owner's store appends where, what it waits for, and how it ends."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from agenthost.cluster.commits import Own, Tell
from agenthost.cluster.owner.routing import TellIn
from agenthost.cluster.owner.store import OwnedElsewhere, OwnershipLost
from agenthost.cluster.units import MISC, REALM
from agenthost.host.store import (
    Append,
    DropChannel,
    DropRecord,
    DropSession,
    MoveBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    SaveSnapshot,
    StoreError,
    StoreMisuse,
    TrimLog,
    Write,
)
from agenthost.protocol.uris import ROOT
from tests.cluster.owner.realm_in_memory import MemoryRealm

NOW = "2026-01-01T00:00:00.000Z"
ONE, TWO = "session:/1", "session:/2"


def begun(session: str, chat: str) -> tuple[Write, ...]:
    return (
        SaveSnapshot(session, "session", 1, b"{}"),
        PutRecord("drafts", session, b"me"),
        SaveSnapshot(chat, "chat", 2, b"{}"),
        TrimLog(chat, 0),
        PutRecord("owners", chat, session.encode()),
        PutSession(session, NOW, b"{}"),
    )


def entry(seq: int, channel: str, action: bytes = b"{}") -> Append:
    return Append(seq, channel, NOW, action)


async def test_a_session_is_made_with_its_owner_and_found_in_the_copy(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(100)
        await store.write(*begun(ONE, "chat:/1"))
        assert await store.load_channel("chat:/1") is not None
        assert await store.session_summary(ONE) == b"{}"
        assert store.copy.owner_of(ONE) == "a"
        assert store.owned == {ONE}
    [commit] = realm.commits()
    assert (commit.unit, commit.node, commit.writes[0]) == (ONE, "a", Own("a"))
    # What every copy does for itself does not travel.
    assert not any(isinstance(write, TrimLog) for write in commit.writes)


async def test_what_happens_while_a_message_is_in_flight_goes_with_the_next(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(1000)
        await store.write(*begun(ONE, "chat:/1"))
        await store.write(*begun(TWO, "chat:/2"))
        realm.gate.clear()
        first = store.write(entry(1, "chat:/1"))
        await asyncio.sleep(0)
        rest = [store.write(entry(seq, "chat:/1")) for seq in range(2, 100)]
        other = store.write(entry(100, "chat:/2"))
        assert store.pending == 100
        realm.open()
        await asyncio.gather(first, *rest, other)
        assert [len(each.writes) for each in realm.commits(ONE)[1:]] == [1, 98]
        assert len(realm.commits(TWO)) == 2
        stored = await store.read_after(0, ["chat:/1"])
        assert len(stored) == 99


async def test_only_the_first_snapshot_of_a_channel_travels_and_each_of_one_without_a_log(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(100)
        store.router.home_of_new = {"ahp-canvas:/1": ONE}.get
        store.write(*begun(ONE, "chat:/1"))
        store.write(SaveSnapshot("chat:/1", "chat", 2, b"later"))
        store.write(SaveSnapshot("ahp-canvas:/1", "canvas", 2, b"1"))
        await store.write(SaveSnapshot("ahp-canvas:/1", "canvas", 2, b"2"))
        await store.write(SaveSnapshot("chat:/1", "chat", 2, b"later still"))
        # One that comes back after it was dropped is new.
        store.write(DropChannel("chat:/1"), DropRecord("owners", "chat:/1"))
        await store.write(
            SaveSnapshot("chat:/1", "chat", 2, b"anew"),
            PutRecord("owners", "chat:/1", ONE.encode()),
        )
        states = [
            (write.channel, write.state)
            for commit in realm.commits(ONE)
            for write in commit.writes
            if isinstance(write, SaveSnapshot) and write.channel != ONE
        ]
        assert states == [
            ("chat:/1", b"{}"),
            ("ahp-canvas:/1", b"1"),
            ("ahp-canvas:/1", b"2"),
            ("chat:/1", b"anew"),
        ]
        assert {commit.unit for commit in realm.commits()} == {ONE}


async def test_what_is_nobodys_needs_no_owner_and_some_does_not_travel(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    config = b'{"type":"root/configChanged","config":{}}'
    async with await realm.store(stack, "a") as store:
        await store.reserve(100)
        await store.write(
            SaveSnapshot(ROOT, "root", 1, b"{}"),
            entry(2, ROOT, b'{"type":"root/agentsChanged"}'),
            entry(3, ROOT, config),
            PutRecord("clients", "c", b"{}"),
        )
        assert realm.commits() == []
        await store.write(PutRecord("trust", "/folder", b"[]"))
        await store.write(PutRecord("worktrees left behind", "/tree", b"{}"))
        assert await store.records("worktrees left behind") == {"/tree": b"{}"}
        other = await realm.store(stack, "b")
        async with other:
            await other.copy.reached(realm.log.last)
            assert await other.records("trust") == {"/folder": b"[]"}
            assert await other.records("worktrees left behind") == {}
        assert {commit.unit for commit in realm.commits()} == {MISC}
        assert await store.claim(REALM)
        await store.write(entry(4, ROOT, config), entry(5, ROOT, b'{"type":"root/agentsChanged"}'))
        [own, changed] = realm.commits(REALM)
        assert own.writes == (Own("a"),)
        assert [write.action for write in changed.writes if isinstance(write, Append)] == [config]


async def test_a_notice_goes_with_what_it_tells_of(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    tell = Tell(ROOT, "root/sessionAdded", b"{}")
    async with await realm.store(stack, "a") as store:
        await store.reserve(100)
        await store.write(*begun(ONE, "chat:/1"), TellIn(ONE, tell))
        assert realm.commits(ONE)[0].writes[-1] == tell


async def test_a_chat_that_moves_is_in_one_session_or_the_other(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(100)
        await store.write(*begun(ONE, "chat:/1"))
        await store.write(*begun(TWO, "chat:/2"))
        before = len(realm.batches)
        realm.gate.clear()
        busy = store.write(entry(1, TWO))
        moved = store.write(
            entry(2, ONE), entry(3, TWO), PutRecord("owners", "chat:/1", TWO.encode())
        )
        after = store.write(entry(4, "chat:/1"), entry(5, ONE))
        realm.open()
        await asyncio.gather(busy, moved, after)
        assert realm.batches[before:][:2] == [(TWO,), (ONE, TWO)]
        assert store.copy.unit_of_channel("chat:/1") == TWO
        # The chains of both go on behind the batch.
        await store.write(entry(6, ONE), entry(7, TWO))


async def test_content_that_two_sessions_share_is_moved_with_what_refers_to_it(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(100)
        await store.write(*begun(ONE, "chat:/1"), PutBlob("blob:/1", ONE, None, b"x"))
        await store.write(*begun(TWO, "chat:/2"))
        await store.write(MoveBlobs(ONE, TWO, "blob:/1"), entry(1, TWO))
        blob = await store.blob("blob:/1")
        assert blob is not None
        assert blob.owner == TWO
        assert realm.batches[-1] == (ONE, TWO)


async def test_who_was_fenced_fails_as_a_whole(realm: MemoryRealm, stack: AsyncExitStack) -> None:
    store = await realm.store(stack, "a")
    told: list[StoreError] = []
    store.fenced = told.append
    await store.__aenter__()
    await store.reserve(100)
    await store.write(*begun(ONE, "chat:/1"))
    await store.write(*begun(TWO, "chat:/2"))
    async with await realm.store(stack, "b") as other:
        await other.copy.reached(realm.log.last)
        assert await other.claim(ONE)
        with pytest.raises(StoreError, match="another node owns session:/1"):
            await store.write(entry(1, "chat:/1"))
        with pytest.raises(StoreError, match="another node owns session:/1"):
            await store.write(entry(2, "chat:/2"))
        assert isinstance(store.failure, OwnershipLost)
        assert told == [store.failure]
        # What it wrote is nowhere.
        assert await other.read_after(0, ["chat:/1"]) == []
    with pytest.raises(StoreError):
        await store.__aexit__(None, None, None)


async def test_one_of_two_claims_counts(realm: MemoryRealm, stack: AsyncExitStack) -> None:
    async with await realm.store(stack, "a") as one, await realm.store(stack, "b") as two:
        claims = await asyncio.gather(one.claim(ONE), two.claim(ONE), one.claim(ONE))
        assert sorted(claims[:2]) == [False, True]
        assert claims[0] == claims[2]
        await two.copy.reached(realm.log.last)
        assert two.copy.owner_of(ONE) == ("a" if claims[0] else "b")


async def test_of_two_who_make_a_session_of_one_name_one_does(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as one, await realm.store(stack, "b") as two:
        await one.reserve(100)
        assert await one.claim_new(ONE)
        assert not await two.claim_new(ONE)
        await one.write(*begun(ONE, "chat:/1"))
        await two.copy.reached(realm.log.last)
        assert not await two.claim_new(ONE)
        assert await two.session_summary(ONE) is not None
        with pytest.raises(OwnedElsewhere) as raised:
            await two.load_whole("chat:/1", ["owners"], "owners")
        assert raised.value.data == {"owner": "a"}
        assert two.failure is None


async def test_what_is_written_while_a_unit_is_given_up_comes_too_late(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as one, await realm.store(stack, "b") as two:
        await one.write(*begun(ONE, "chat:/1"), PutRecord("running", "chat:/1", ONE.encode()))
        releasing = asyncio.create_task(one.release(ONE, "b"))
        await asyncio.sleep(0)
        # The copy has not heard of it yet.
        assert one.copy.owner_of(ONE) == "a"
        await one.write(DropRecord("running", "chat:/1"))
        await releasing
        await two.copy.reached(realm.log.last)
        assert await two.record("running", "chat:/1") == ONE.encode()


async def test_a_session_is_made_whose_name_somebody_has_asked_for_before(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(100)
        # As for one that is to come back from the trash, and is not there.
        assert await store.claim(ONE)
        assert await store.claim_new(ONE)
        await store.write(*begun(ONE, "chat:/1"))
        assert await store.load_channel(ONE) is not None
        assert await store.session_summary(ONE) is not None
        # What is there is not made again.
        assert await store.claim_new(ONE)
        assert store.router.unit_of(ONE) == ONE


async def test_a_unit_that_was_given_up_is_the_others(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as one, await realm.store(stack, "b") as two:
        await one.reserve(100)
        await one.write(*begun(ONE, "chat:/1"))
        last = one.write(entry(1, "chat:/1"))
        await one.release(ONE, "b")
        assert last.done()
        assert one.owned == set()
        # What comes too late is not written, and harms nobody.
        await one.write(entry(2, "chat:/1"), PutRecord("resume", ONE, b"{}"))
        await two.copy.reached(realm.log.last)
        assert two.copy.owner_of(ONE) == "b"
        assert await two.claim(ONE)
        await two.reserve(100)
        await two.write(entry(3, "chat:/1"))
        assert len(await two.read_after(0, ["chat:/1"])) == 2
        assert one.failure is None
        with pytest.raises(StoreMisuse):
            one.write_to(ONE)


async def test_a_disposed_session_is_owned_no_more_and_can_come_back(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(100)
        await store.write(*begun(ONE, "chat:/1"))
        await store.write(
            PutRecord("trash", ONE, b"{}"),
            DropChannel("chat:/1"),
            DropRecord("owners", "chat:/1"),
            DropChannel(ONE),
            DropRecord("owners", ONE),
            DropSession(ONE),
        )
        assert store.owned == set()
        assert realm.commits(MISC) == []
        assert await store.claim_new(ONE)
        await store.write(*begun(ONE, "chat:/1"), DropRecord("trash", ONE))
        assert await store.load_channel("chat:/1") is not None
        assert await store.records("trash") == {}


async def test_what_has_many_writes_or_is_large_is_stored_whole(
    realm: MemoryRealm, stack: AsyncExitStack
) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(10_000)
        await store.write(*begun(ONE, "chat:/1"))
        big = b"x" * 3_000_000
        await store.write(
            *(entry(seq, "chat:/1") for seq in range(1, 601)), PutBlob("blob:/1", ONE, None, big)
        )
        await store.write(entry(601, "chat:/1"))
        assert len(await store.read_after(0, ["chat:/1"])) == 601
        blob = await store.blob("blob:/1")
        assert blob is not None
        assert blob.data == big


async def test_an_empty_message_renews_a_unit(realm: MemoryRealm, stack: AsyncExitStack) -> None:
    async with await realm.store(stack, "a") as store:
        await store.reserve(10)
        await store.write(*begun(ONE, "chat:/1"))
        before = store.copy.last_of(ONE)
        await store.write_to(ONE)
        assert store.copy.last_of(ONE) > before
        await store.write(entry(1, "chat:/1"))


async def test_a_realm_out_of_reach_does_not_hold_up_the_end(
    realm: MemoryRealm, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agenthost.cluster.owner.store.CLOSE_SECONDS", 0.01)
    store = await realm.store(stack, "a")
    await store.__aenter__()
    realm.gate.clear()
    lost = store.write(PutRecord("b", "k", b"v"))
    async with asyncio.timeout(10):
        with pytest.raises(StoreError, match="took no more writes"):
            await store.__aexit__(None, None, None)
    assert isinstance(lost.exception(), StoreError)
