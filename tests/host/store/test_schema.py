from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agenthost.host.store import PutRecord, SqliteStore, StoreError
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


def test_records_that_begin_like_a_short_form_are_marked_and_damaged_ones_stay_so() -> None:
    values = {"plain": b"v", "zero": b"\0v", "one": b"\1v", "damaged": b"\1w"}
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as older:
        migrate(older, "store.db", MIGRATIONS[:5])
        for key, value in values.items():
            stored = checksum("b", key, value) + (key == "damaged")
            older.execute("INSERT INTO record VALUES ('b', ?, ?, ?)", (key, value, stored))
        migrate(older, "store.db")
        kept = {key: records(older, "b").get(key) for key in values}
    assert kept == {**values, "damaged": None}


async def test_a_newer_schema_is_refused_in_words(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"store\.db has schema version 99.*newer agenthost"):
        migrate(connection, "store.db")
