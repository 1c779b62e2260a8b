"""A copy follows its feed: in order, with real numbers, and goes on where it was."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest

from agenthost.cluster.commits import Own, Tell
from agenthost.cluster.copy import Applied, LocalCopy
from agenthost.cluster.copy import local_copy as settings
from agenthost.cluster.copy.list_book import ListLine
from agenthost.cluster.numbers import number
from agenthost.cluster.realm import FellBehind, RealmReplaced
from agenthost.cluster.units import MISC, REALM
from agenthost.host.store import (
    Append,
    DropChannel,
    DropRecord,
    DropSession,
    PutRecord,
    PutSession,
    SaveSnapshot,
    StoreError,
    StoreMisuse,
    TrimLog,
)
from agenthost.protocol.uris import ROOT
from tests.cluster.copy import victim
from tests.cluster.copy.hand_driven import HandDrivenRealm, created, said

SESSION, CHAT = "session:/1", "chat:/1"


def copy_of(realm: HandDrivenRealm, folder: Path) -> LocalCopy:
    return LocalCopy(folder, None, None, source=realm)


async def within(awaitable: object) -> None:
    await asyncio.wait_for(awaitable, 20)  # type: ignore[arg-type]


async def test_writes_are_stored_under_the_numbers_of_their_messages(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    realm.append(SESSION, said(CHAT, "one"), said(CHAT, "two"))
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(2))
        stored = await copy.store.load_channel(CHAT)
        assert stored is not None
        assert stored.seq == number(1, 2)
        assert [entry.seq for entry in stored.tail] == [number(2, 0), number(2, 1)]
        assert copy.store.gaps == ()


async def test_a_snapshot_has_the_number_of_the_last_entry_before_it(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    realm.append(SESSION, said(CHAT, "one"), Own("a"), SaveSnapshot(CHAT, "chat", 0, b"{}"))
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(2))
        stored = await copy.store.load_channel(CHAT)
        assert stored is not None
        assert (stored.seq, stored.state, stored.tail) == (number(2, 0), b"{}", ())


async def test_listeners_hear_every_commit_in_order_with_all_that_it_says(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    copy = copy_of(realm, tmp_path / "n")
    heard: list[Applied] = []
    copy.on_commit(heard.append)
    async with copy:
        realm.append(SESSION, *created(SESSION, CHAT), node="b")
        realm.append(REALM, Tell("root:/", "root/sessionAdded", b"{}"))
        await within(copy.reached(2))
    assert [(applied.seq, applied.unit, applied.node) for applied in heard] == [
        (1, SESSION, "b"),
        (2, REALM, "a"),
    ]
    assert heard[1].writes == ((number(2, 0), Tell("root:/", "root/sessionAdded", b"{}")),)
    assert [n for n, _ in heard[0].writes] == [number(1, index) for index in range(4)]


async def test_when_sessions_changed_in_the_list_is_known_after_a_restart(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    added = json.dumps({"summary": {"resource": SESSION}}).encode()
    gone = json.dumps({"session": "session:/2"}).encode()
    async with copy_of(realm, tmp_path / "n") as copy:
        realm.append(SESSION, Tell(ROOT, "root/sessionAdded", added))
        realm.append(SESSION, Tell(ROOT, "root/sessionRemoved", gone))
        await within(copy.reached(2))
    async with copy_of(realm, tmp_path / "n") as copy:
        assert copy.lists.knows(0)
        assert copy.lists.since(0) == [SESSION, "session:/2"]
        assert copy.lists.since(number(1, 0)) == ["session:/2"]
        assert copy.lists.line(SESSION) == ListLine(number(1, 0), number(1, 0))


async def test_a_commit_of_many_messages_is_taken_as_a_whole(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    copy = copy_of(realm, tmp_path / "n")
    heard: list[int] = []
    copy.on_commit(lambda applied: heard.append(applied.seq))
    async with copy:
        other = HandDrivenRealm(tmp_path)
        large = PutRecord("b", "large", b"x" * 2_000_000)
        other.append(SESSION, *(said(CHAT, str(i)) for i in range(300)), large)
        bodies = list(other.messages.values())
        assert len(bodies) > 3
        for body in bodies[:-1]:
            realm.append_body(body)
        realm_last = realm.last
        # Read so far, which the feed shows by asking for more.
        for _ in range(100):
            await asyncio.sleep(0)
        assert (copy.position, heard) == (0, [])
        realm.append_body(bodies[-1])
        await within(copy.reached(realm_last + 1))
        assert await copy.store.record("b", "large") == b"x" * 2_000_000
    assert heard == [1, 2, len(bodies)]


async def test_it_goes_on_where_it_was(realm: HandDrivenRealm, tmp_path: Path) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(1))
    realm.append(SESSION, said(CHAT, "one"))
    copy = copy_of(realm, tmp_path / "n")
    heard: list[int] = []
    copy.on_commit(lambda applied: heard.append(applied.seq))
    async with copy:
        await within(copy.reached(2))
        assert copy.owner_of(SESSION) == "a"
        assert copy.unit_of_channel(CHAT) == SESSION
        assert copy.last_of(SESSION) == 2
    assert heard == [2]


async def test_what_a_killed_node_leaves_is_a_whole_position(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    """Goes on with the files as they are at some moment in the middle of the writing."""
    realm.append(SESSION, *created(SESSION, CHAT))
    for n in range(3_000):
        realm.append(SESSION, said(CHAT, str(n)), PutRecord("count", "n", str(n).encode()))
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(500))
        (tmp_path / "killed").mkdir()
        for file in (tmp_path / "n").glob("realm.sqlite*"):
            if not file.name.endswith((".lock", "-shm")):
                shutil.copy(file, tmp_path / "killed")
    again = copy_of(realm, tmp_path / "killed")
    heard: list[int] = []
    again.on_commit(lambda applied: heard.append(applied.seq))
    async with again:
        start = again.position
        await within(again.reached(realm.last))
        stored = await again.store.load_channel(CHAT)
        assert stored is not None
        assert len(stored.tail) == 3_000
        assert await again.store.record("count", "n") == b"2999"
        assert again.last_of(SESSION) == realm.last
    assert heard == list(range(start + 1, realm.last + 1))


async def test_another_log_and_one_that_was_set_back_are_refused(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "STALE_SECONDS", 0.0)
    realm.append(SESSION, *created(SESSION, CHAT))
    realm.append(SESSION)
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(2))
    realm.last = 1
    with pytest.raises(RealmReplaced, match="ends at message 1, but this node has seen message 2"):
        await copy_of(realm, tmp_path / "n").__aenter__()
    realm.last, realm.identity = 2, "log made on Tuesday"
    with pytest.raises(RealmReplaced, match="another one than this node has copied"):
        await copy_of(realm, tmp_path / "n").__aenter__()
    realm.identity = "log made on Monday"
    async with copy_of(realm, tmp_path / "n") as copy:
        assert copy.position == 2


async def test_a_leader_that_is_behind_for_a_moment_is_asked_again(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(1))
    realm.last = 0
    opening = asyncio.create_task(copy_of(realm, tmp_path / "n").__aenter__())
    await asyncio.wait([opening], timeout=0.3)
    assert not opening.done()
    realm.last = 1
    copy = await asyncio.wait_for(opening, 20)
    assert copy.position == 1
    await copy.__aexit__(None, None, None)


async def test_a_log_that_is_cut_behind_what_was_read_fails_the_copy(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append(SESSION)
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(1))
        waiting = asyncio.ensure_future(copy.reached(7))
        realm.first = 5
        realm.last = 4
        realm.append(SESSION)
        with pytest.raises(FellBehind, match="away for too long"):
            await within(copy.failed())
        with pytest.raises(FellBehind):
            await within(waiting)
        with pytest.raises(FellBehind):
            await copy.reached(9)
        assert isinstance(copy.failure, FellBehind)
        assert not copy.is_fresh


async def test_a_message_that_nobody_can_read_fails_the_copy(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append_body(b"\x00\x00\x00\x02hello")
    async with copy_of(realm, tmp_path / "n") as copy:
        with pytest.raises(Exception, match="not one of agenthost's"):
            await within(copy.failed())


async def test_who_owns_what(realm: HandDrivenRealm, tmp_path: Path) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    realm.append("session:/2", *created("session:/2", "chat:/2", node="b"))
    realm.append(SESSION, SaveSnapshot("canvas:/1", "canvas", 0, b"{}"))
    realm.append(MISC, PutRecord("clients", "c", b"{}"))
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.caught_up())
        assert copy.units_of("a") == [SESSION]
        assert copy.owner_of("session:/2") == "b"
        assert copy.last_of("session:/2") == 2
        assert copy.last_of("session:/3") == 0
        assert copy.unit_of_channel("canvas:/1") == SESSION
        assert copy.unit_of_channel("session:/2") == "session:/2"
        assert copy.unit_of_channel("chat:/9") is None
        realm.append(SESSION, Own("b"))
        realm.append("session:/2", Own(None))
        realm.append("session:/2", PutRecord("owners", CHAT, b"session:/2"))
        await within(copy.caught_up())
    async with copy_of(realm, tmp_path / "n") as copy:
        assert copy.units_of("b") == [SESSION]
        assert copy.owner_of("session:/2") is None
        assert copy.unit_of_channel(CHAT) == "session:/2"
        assert copy.unit_of_channel("canvas:/1") == SESSION


async def test_a_disposed_session_is_nobodys_but_keeps_its_end(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append(SESSION, *created(SESSION, CHAT), PutSession(SESSION, "x", b"{}"))
    realm.append(
        SESSION,
        *(DropChannel(CHAT), DropRecord("owners", CHAT)),
        *(DropChannel(SESSION), DropSession(SESSION)),
    )
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.caught_up())
        assert copy.units_of("a") == []
        assert copy.unit_of_channel(SESSION) is None
        assert copy.unit_of_channel(CHAT) is None
        assert copy.last_of(SESSION) == 2
        assert await copy.store.count_sessions() == 0


async def test_hosts_may_enter_leave_and_read_but_never_write(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    async with copy_of(realm, tmp_path / "n") as copy:
        async with copy.store as store:
            await store.reserve(5_000_000)
            await store.seal(3)
            await store.write()
            with pytest.raises(StoreMisuse):
                store.write(Append(9, CHAT, "now", b"{}"))
        assert await copy.store.count_sessions() == 0


async def test_what_others_trim_stays(realm: HandDrivenRealm, tmp_path: Path) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    realm.append(
        SESSION, said(CHAT, "x"), SaveSnapshot(CHAT, "chat", 0, b"{}"), TrimLog(CHAT, 0, 0)
    )
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(2))
        assert len(await copy.store.read_after(0, [CHAT])) == 1


async def test_freshness_is_that_of_the_feed(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    realm.append(SESSION)
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.caught_up())
        monkeypatch.setattr(settings, "FRESH_SECONDS", 1e6)
        assert copy.is_fresh
        realm.silence = 2e6
        assert not copy.is_fresh


async def test_a_log_that_begins_late_needs_no_base(tmp_path: Path) -> None:
    realm = HandDrivenRealm(tmp_path, first=7_000)
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.caught_up())
        realm.append(SESSION, *created(SESSION, CHAT))
        await within(copy.reached(7_000))
        stored = await copy.store.load_channel(SESSION)
        assert stored is not None
        assert stored.seq == number(7_000, 1)


async def test_what_is_stored_is_json_that_hosts_can_read(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    async with copy_of(realm, tmp_path / "n") as copy:
        await within(copy.reached(1))
        whole = await copy.store.load_whole(CHAT, ["owners"], "owners")
        assert whole is not None
        assert whole.owner is not None
        assert json.loads(whole.stored.state)["title"] == "t"


async def test_a_disk_that_takes_no_more_fails_the_copy(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with copy_of(realm, tmp_path / "n") as copy:

        def refuse(*writes: object) -> asyncio.Future[None]:
            refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            refused.set_exception(StoreError("database or disk is full"))
            return refused

        monkeypatch.setattr(copy.store, "put", refuse)
        realm.append(SESSION)
        with pytest.raises(StoreError, match="full"):
            await within(copy.reached(1))
        with pytest.raises(StoreError, match="full"):
            await within(copy.failed())


async def test_who_does_not_listen_any_more_hears_nothing(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    copy = copy_of(realm, tmp_path / "n")
    heard: list[int] = []
    end = copy.on_commit(lambda applied: heard.append(applied.seq))
    async with copy:
        await within(copy.reached(realm.append(SESSION)))
        end()
        await within(copy.reached(realm.append(SESSION)))
    assert heard == [1]


async def test_a_node_killed_again_and_again_has_every_commit_once(tmp_path: Path) -> None:
    """Kills a process that follows a log of its own, which is the same each time."""
    last = 0
    for _ in range(3):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.cluster.copy.victim", str(tmp_path / "n")),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(60):
                for _ in range(3):
                    last = int(await process.stdout.readline())
        finally:
            process.kill()
            await process.wait()
    realm = HandDrivenRealm(tmp_path)
    victim.fill(realm)
    async with copy_of(realm, tmp_path / "n") as copy:
        assert last <= copy.position < realm.last
        assert copy.last_of(SESSION) == copy.position
        await within(copy.reached(realm.last))
        entries = await copy.store.read_after(0, [CHAT])
    assert [entry.seq for entry in entries] == [number(n, 0) for n in range(2, realm.last + 1)]
