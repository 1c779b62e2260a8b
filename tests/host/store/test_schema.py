from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agenthost.host.store import PutRecord, SqliteStore, StoreDamaged, StoreError
from agenthost.host.store.queries import records
from agenthost.host.store.row_format import checksum
from agenthost.host.store.schema import MIGRATIONS, Migration, check_version, migrate


@pytest.fixture
async def connection(tmp_path: Path) -> sqlite3.Connection:
    """A file of the current version with something in it, opened by hand."""
    async with SqliteStore(tmp_path / "store.db") as store:
        await store.write(PutRecord("b", "k", b"v"))
    return sqlite3.connect(tmp_path / "store.db", isolation_level=None)


@pytest.fixture(autouse=True)
def closed(connection: sqlite3.Connection) -> Iterator[None]:
    with contextlib.closing(connection):
        yield


def add_note(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE record ADD COLUMN note TEXT NOT NULL DEFAULT 'none'")


def fail(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM record")
    raise RuntimeError("half way")


async def test_the_next_migration_keeps_what_is_stored(connection: sqlite3.Connection) -> None:
    newer: tuple[Migration, ...] = (*MIGRATIONS, add_note)
    migrate(connection, "store.db", newer)
    rows = connection.execute("SELECT key, value, note FROM record").fetchall()
    assert rows == [("k", b"v", "none")]
    assert check_version(connection, "store.db", newer) == len(newer)
    # Nothing is left to do the second time.
    migrate(connection, "store.db", newer)


async def test_a_failed_migration_changes_nothing(connection: sqlite3.Connection) -> None:
    newer: tuple[Migration, ...] = (*MIGRATIONS, add_note, fail)
    with pytest.raises(RuntimeError, match="half way"):
        migrate(connection, "store.db", newer)
    # The step before it stands; its own work is undone.
    assert check_version(connection, "store.db", newer) == len(MIGRATIONS) + 1
    assert connection.execute("SELECT count(*) FROM record").fetchone() == (1,)


def test_records_of_older_hosts_are_what_they_were_whatever_they_begin_with() -> None:
    values = {"plain": b"v", "zero": b"\0v", "one": b"\1v", "damaged": b"\1w"}
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as older:
        migrate(older, "store.db", MIGRATIONS[:5])
        for key, value in values.items():
            stored = checksum("b", key, value) + (key == "damaged")
            older.execute("INSERT INTO record VALUES ('b', ?, ?, ?)", (key, value, stored))
        migrate(older, "store.db")
        kept = {key: records(older, "b").get(key) for key in values}
    assert kept == {**values, "damaged": None}


async def test_a_file_whose_records_cannot_be_read_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "older.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as older:
        migrate(older, str(path), MIGRATIONS[:5])
        for number in range(1000):
            row = ("b", f"key-{number:04}", b"%04d" % number * 10)
            older.execute("INSERT INTO record VALUES (?, ?, ?, ?)", (*row, checksum(*row)))
        (size,) = older.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    page = data.index(b"key-0500") // size * size
    data[page : page + size] = b"\xff" * size
    path.write_bytes(data)
    async with SqliteStore(path) as store:
        assert await store.record("b", "key-0003") == b"0003" * 10
        with pytest.raises(StoreDamaged):
            await store.records("b")


async def test_a_newer_schema_is_refused_in_words(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"store\.db has schema version 99.*newer agenthost"):
        migrate(connection, "store.db")
