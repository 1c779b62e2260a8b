"""Bases: the log's beginning goes, and whoever needs it goes on from a whole copy."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agenthost.cluster.commits import Own
from agenthost.cluster.copy import LocalCopy, bases
from agenthost.cluster.copy.source import CopyFailed
from agenthost.cluster.units import MISC
from agenthost.host.store import DropSession, PutRecord
from tests.cluster.copy.hand_driven import HandDrivenRealm, created, said

SESSION, CHAT = "session:/1", "chat:/1"


def copy_of(realm: HandDrivenRealm, folder: Path) -> LocalCopy:
    return LocalCopy(folder, None, None, source=realm)


@pytest.fixture(autouse=True)
def small_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "KEPT_MESSAGES", 10)
    monkeypatch.setattr(bases, "KEPT_SECONDS", -1.0)


async def with_a_base(realm: HandDrivenRealm, folder: Path) -> None:
    """Fill a realm whose first session is busy to the end, and make a base of it."""
    realm.append(SESSION, *created(SESSION, CHAT))
    realm.append(MISC, PutRecord("clients", "c", b"1"))
    for n in range(100):
        realm.append(SESSION, said(CHAT, str(n)))
    async with copy_of(realm, folder) as copy, asyncio.timeout(20):
        await copy.caught_up()
        copy._mark()
        await copy.make_base()


async def test_a_new_node_goes_on_from_the_newest_base(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    await with_a_base(realm, tmp_path / "a")
    assert realm.first == realm.last - 10 + 1
    realm.append(SESSION, said(CHAT, "later"))
    async with copy_of(realm, tmp_path / "b") as copy, asyncio.timeout(20):
        await copy.caught_up()
        stored = await copy.store.load_channel(CHAT)
        assert stored is not None
        assert len(stored.tail) == 101
        assert copy.owner_of(SESSION) == "a"
        assert copy.last_of(SESSION) == realm.last
        assert copy.unit_of_channel(CHAT) == SESSION
    assert [file.name for file in (tmp_path / "b").glob("base*")] == []


async def test_a_node_that_was_away_for_long_does_too(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    realm.append(SESSION)
    async with copy_of(realm, tmp_path / "b") as copy, asyncio.timeout(20):
        await copy.caught_up()
    await with_a_base(realm, tmp_path / "a")
    async with copy_of(realm, tmp_path / "b") as copy, asyncio.timeout(20):
        await copy.caught_up()
        assert await copy.store.record("clients", "c") == b"1"


@pytest.mark.parametrize("folder", ["new", "was there"])
async def test_a_node_that_begins_while_the_log_is_cut_takes_a_base(
    realm: HandDrivenRealm, tmp_path: Path, folder: str
) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    async with copy_of(realm, tmp_path / "was there") as copy, asyncio.timeout(20):
        await copy.caught_up()

    async def cut() -> None:
        await with_a_base(realm, tmp_path / "a")

    realm.when_asked = cut
    async with copy_of(realm, tmp_path / folder) as copy, asyncio.timeout(20):
        await copy.caught_up()
        assert realm.first > 2
        assert await copy.store.record("clients", "c") == b"1"
        assert copy.last_of(SESSION) == realm.last
        # It goes on from there.
        await copy.reached(realm.append(SESSION, said(CHAT, "later")))


async def test_a_log_that_is_cut_again_while_a_base_is_taken_is_taken_up_from_a_newer_one(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    await with_a_base(realm, tmp_path / "a")

    async def cut() -> None:
        for _ in range(bases.KEPT_BASES):
            for n in range(30):
                realm.append(SESSION, said(CHAT, str(n)))
            async with copy_of(realm, tmp_path / "a") as copy:
                await copy.caught_up()
                copy._mark()
                await copy.make_base()

    realm.when_fetched = cut
    async with copy_of(realm, tmp_path / "b") as copy, asyncio.timeout(20):
        await copy.caught_up()
        stored = await copy.store.load_channel(CHAT)
        assert stored is not None
        assert len(stored.tail) == 100 + 30 * bases.KEPT_BASES


async def test_bases_that_others_replaced_meanwhile_are_not_the_last_to_be_tried(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    await with_a_base(realm, tmp_path / "a")
    [only] = await realm.base_names()
    whole = (tmp_path / "bases" / only).read_bytes()
    (tmp_path / "bases" / only).write_bytes(b"SQLite forma")

    async def replace() -> None:
        await realm.drop_base(only)
        again = f"base-{bases.position_of(only):016d}-{'e' * 32}"
        (tmp_path / "bases" / again).write_bytes(whole)

    realm.when_fetched = replace
    async with copy_of(realm, tmp_path / "b") as copy, asyncio.timeout(20):
        await copy.caught_up()
        assert copy.owner_of(SESSION) == "a"


async def test_the_log_keeps_the_end_of_every_unit_that_is_there(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    """The server would take anything for a unit of which it has no message left."""
    realm.append(SESSION)
    idle = realm.append("session:/idle", *created("session:/idle", "chat:/idle"))
    await with_a_base(realm, tmp_path / "a")
    assert realm.first == idle
    async with copy_of(realm, tmp_path / "a") as copy, asyncio.timeout(20):
        assert copy.stale_units() == {"session:/idle": "a"}
        realm.append("session:/idle")
        await copy.caught_up()
        assert copy.stale_units() == {}


async def test_what_came_in_the_last_minutes_stays(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bases, "KEPT_SECONDS", 600.0)
    await with_a_base(realm, tmp_path / "a")
    assert realm.first == 1
    assert len(await realm.base_names()) == 1


async def test_two_bases_are_kept(realm: HandDrivenRealm, tmp_path: Path) -> None:
    realm.append(SESSION, *created(SESSION, CHAT))
    async with copy_of(realm, tmp_path / "a") as copy, asyncio.timeout(60):
        for _ in range(3):
            realm.append(SESSION, said(CHAT, "x"))
            await copy.caught_up()
            await asyncio.gather(copy.make_base(), copy.make_base())
    positions = [bases.position_of(name) for name in await realm.base_names()]
    assert positions == [4, 4]


async def test_a_base_that_is_not_whole_is_passed_over(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    await with_a_base(realm, tmp_path / "a")
    (tmp_path / "bases" / f"base-{realm.last:016d}-{'f' * 32}").write_bytes(b"SQLite forma")
    (tmp_path / "bases" / f"base-{realm.last + 50:016d}-{'f' * 32}").write_bytes(b"")
    (tmp_path / "bases" / "base-of-another-kind").write_bytes(b"")
    async with copy_of(realm, tmp_path / "b") as copy, asyncio.timeout(20):
        await copy.caught_up()
        assert copy.owner_of(SESSION) == "a"


async def test_without_a_base_the_node_says_so(realm: HandDrivenRealm, tmp_path: Path) -> None:
    await with_a_base(realm, tmp_path / "a")
    for name in await realm.base_names():
        await realm.drop_base(name)
    with pytest.raises(CopyFailed, match="of 0 bases none leads up to it"):
        await copy_of(realm, tmp_path / "b").__aenter__()
    # Nothing is left half done: with a base again it goes on.
    async with copy_of(realm, tmp_path / "a") as copy, asyncio.timeout(20):
        await copy.make_base()
    async with copy_of(realm, tmp_path / "b") as copy, asyncio.timeout(20):
        await copy.caught_up()


async def test_a_base_is_due_by_messages_and_by_bytes(
    realm: HandDrivenRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_a_base(realm, tmp_path / "a")
    async with copy_of(realm, tmp_path / "a") as copy, asyncio.timeout(20):
        assert not await copy.base_is_due()
        realm.append(SESSION)
        assert not await copy.base_is_due()
        monkeypatch.setattr(bases, "BASE_EVERY", 1)
        assert await copy.base_is_due()
        monkeypatch.setattr(bases, "BASE_EVERY", 1_000)
        monkeypatch.setattr(bases, "BASE_BYTES", 1)
        assert await copy.base_is_due()


async def test_a_disposed_session_is_forgotten_with_its_last_message(
    realm: HandDrivenRealm, tmp_path: Path
) -> None:
    """So that it can come back under its name: the server expects nothing there either."""
    realm.append("session:/gone", *created("session:/gone", "chat:/gone"))
    realm.append("session:/gone", DropSession("session:/gone"))
    await with_a_base(realm, tmp_path / "a")
    assert realm.first > 2
    for folder in ("a", "b"):
        async with copy_of(realm, tmp_path / folder) as copy:
            assert copy.last_of("session:/gone") == 0
            assert copy.last_of(SESSION) == realm.last


async def test_what_nobody_owns_is_stale_too(realm: HandDrivenRealm, tmp_path: Path) -> None:
    realm.append("session:/left", *created("session:/left", "chat:/left"), Own(None))
    await with_a_base(realm, tmp_path / "a")
    assert realm.first == 1
    async with copy_of(realm, tmp_path / "a") as copy:
        assert copy.stale_units() == {"session:/left": None}
