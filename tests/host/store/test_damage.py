"""Files that are not what a store left behind: each is refused in words and left as it is."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from agenthost.host.store import Append, PutSession, SqliteStore, StoreDamaged, StoreError

PAGE = 4096


async def make_store(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.reserve(10_000)
        for n in range(1, 2001):
            store.write(Append(n, "chat:/a", "now", b"x" * 100), PutSession(f"s{n}", "k", b"{}"))
        await store.seal(2000)


def garbage(path: Path) -> None:
    path.write_bytes(b"no database at all " * 1000)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def half_a_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 2 * PAGE])


def schema_overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:PAGE] = b"\xff" * (PAGE - 100)
    path.write_bytes(content)


def tables_overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[PAGE : 8 * PAGE] = b"\xff" * (7 * PAGE)
    path.write_bytes(content)


def content_of(path: Path) -> bytes:
    return path.read_bytes()


async def refused(path: Path, error: type[StoreError], match: str) -> None:
    """Opening fails twice in the same way: the first attempt changed and locked nothing."""
    before = content_of(path)
    for _ in range(2):
        with pytest.raises(error, match=match) as caught:
            await SqliteStore(path).__aenter__()
        assert type(caught.value) is error
        assert str(path) in str(caught.value)
    assert content_of(path) == before


@pytest.mark.parametrize(
    "damage",
    [garbage, empty, half_a_header, cut_short, schema_overwritten, tables_overwritten],
    ids=lambda damage: damage.__name__,
)
async def test_a_damaged_file_is_refused_and_left_alone(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "store.db"
    await make_store(path)
    damage(path)
    await refused(path, StoreDamaged, "Restore it from a backup")


async def test_a_log_without_its_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    wal = tmp_path / "store.db-wal"
    wal.write_bytes(b"what is left")
    with pytest.raises(StoreDamaged, match="is missing"):
        await SqliteStore(path).__aenter__()
    assert not path.exists()
    assert wal.read_bytes() == b"what is left"


async def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    await refused(path, StoreError, "another program")


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await make_store(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    await refused(path, StoreError, "schema version 99")


async def test_a_refused_file_keeps_its_write_ahead_log(tmp_path: Path) -> None:
    await make_store(tmp_path / "store.db")
    killed = tmp_path / "killed"
    killed.mkdir()
    # What a newer agenthost leaves when it is killed: the change is in the log alone.
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
        for name in ("store.db", "store.db-wal"):
            shutil.copy(tmp_path / name, killed)
    log = (killed / "store.db-wal").read_bytes()
    assert log
    await refused(killed / "store.db", StoreError, "schema version 99")
    assert (killed / "store.db-wal").read_bytes() == log


async def test_damage_deep_inside_is_found_by_the_read_that_meets_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await make_store(path)
    content = bytearray(path.read_bytes())
    middle = len(content) // PAGE // 2 * PAGE
    content[middle : middle + 20 * PAGE] = b"\xff" * (20 * PAGE)
    path.write_bytes(content)
    async with SqliteStore(path) as store:
        with pytest.raises(StoreDamaged, match="Restore it from a backup"):
            await store.read_after(0, ["chat:/a"])


async def test_a_creation_cut_short_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    (tmp_path / "store.db.new").write_bytes(b"half a databa")
    (tmp_path / "store.db.new-journal").write_bytes(b"its journal")
    await make_store(path)
    async with SqliteStore(path) as store:
        assert await store.count_sessions() == 2000
