"""Rows that a disk got wrong: found when they are read, told, and no harm to the others."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agenthost.host.store import (
    Append,
    Blob,
    MoveBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    SaveSnapshot,
    SqliteStore,
    StoreDamaged,
)
from agenthost.host.store.files import connect_writer
from agenthost.host.store.inspection import MOST_FINDINGS, inspect_store
from agenthost.host.store.schema import MIGRATIONS, migrate

NAMES = ("a", "b", "c")


async def fill(path: Path, first: int = 1) -> None:
    """Store one of everything for each name."""
    async with SqliteStore(path) as store:
        await store.reserve(first + 10)
        for seq, name in enumerate(NAMES, first):
            await store.write(
                SaveSnapshot(f"chat:/{name}", "chat", first - 1, f"state-{name}".encode()),
                Append(seq, f"chat:/{name}", f"time-{name}", f"action-{name}".encode(), b"origin"),
                PutSession(f"session:/{name}", f"key-{name}", f"summary-{name}".encode()),
                PutBlob(f"blob:/{name}", "owner", None, f"data-{name}".encode()),
                PutRecord("bucket", name, f"value-{name}".encode()),
            )
        await store.seal(first + 2)


def spoil(path: Path, content: bytes, instead: bytes) -> None:
    """Change bytes in the file behind SQLite's back, wherever they are."""
    data = path.read_bytes()
    assert content in data
    assert len(content) == len(instead)
    path.write_bytes(data.replace(content, instead))


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    await fill(path)
    return path


async def answers(store: SqliteStore, name: str) -> dict[str, Any]:
    """Ask everything about a name; what is damaged is the word."""
    questions = {
        "channel": store.load_channel(f"chat:/{name}"),
        "log": store.read_after(0, [f"chat:/{name}"]),
        "session": store.session_summary(f"session:/{name}"),
        "blob": store.blob(f"blob:/{name}"),
        "record": store.record("bucket", name),
    }
    found: dict[str, Any] = {}
    for what, question in questions.items():
        try:
            found[what] = await question
        except StoreDamaged:
            found[what] = "damaged"
    return found


@pytest.mark.parametrize(
    ("content", "instead", "damaged"),
    [
        (b"state-b", b"stbte-b", {"channel"}),
        (b"action-b", b"action-B", {"channel", "log"}),
        (b"time-b", b"tine-b", {"channel", "log"}),
        (b"time-b", b"time-\xff", {"channel", "log"}),
        (b"summary-b", b"summary-c", {"session"}),
        (b"data-b", b"dbta-b", {"blob"}),
        (b"value-b", b"value-\x00", {"record"}),
    ],
)
async def test_a_damaged_row_is_found_by_who_asks_for_it_and_by_nobody_else(
    path: Path, content: bytes, instead: bytes, damaged: set[str]
) -> None:
    async with SqliteStore(path) as store:
        before = {name: await answers(store, name) for name in NAMES}
    spoil(path, content, instead)
    async with SqliteStore(path) as store:
        for name in NAMES:
            bad = damaged if name == "b" else set()
            expected = {w: "damaged" if w in bad else a for w, a in before[name].items()}
            assert await answers(store, name) == expected
        # And all can be written on.
        await store.reserve(100)
        await store.write(Append(50, "chat:/c", "now", b"more"))
    findings = inspect_store(path).findings
    assert len(findings) == 1
    assert "b is not as it was written" in findings[0]


async def test_a_damaged_blob_stays_damaged_when_it_changes_its_owner(path: Path) -> None:
    spoil(path, b"data-b", b"dbta-b")
    async with SqliteStore(path) as store:
        await store.write(MoveBlobs("owner", "another"))
        assert await store.blob("blob:/a") == Blob("another", None, b"data-a")
        with pytest.raises(StoreDamaged):
            await store.blob("blob:/b")


@pytest.mark.parametrize("change", [0, 1, 40, -1])
async def test_damage_to_a_deflated_snapshot_or_a_short_time_is_found(
    tmp_path: Path, change: int
) -> None:
    path = tmp_path / "store.db"
    now = "2026-01-01T00:00:00.000Z"
    async with SqliteStore(path) as store:
        await store.reserve(10)
        await store.write(
            SaveSnapshot("chat:/a", "chat", 0, b'{"turns":["one","two","three"]}' * 50),
            SaveSnapshot("chat:/b", "chat", 0, b"{}"),
            Append(1, "chat:/b", now, b"{}"),
        )
    with closing(sqlite3.connect(path)) as plain:
        (state,) = plain.execute("SELECT state FROM snapshot WHERE length(state) > 9").fetchone()
        (time,) = plain.execute("SELECT now FROM log").fetchone()
    spoilt = bytearray(state)
    spoilt[change] ^= 1
    spoil(path, state, bytes(spoilt))
    spoil(path, time.encode(), time.encode()[:-1] + b"7")
    async with SqliteStore(path) as store:
        for uri in ("chat:/a", "chat:/b"):
            with pytest.raises(StoreDamaged, match=f"of {uri} is damaged"):
                await store.load_channel(uri)
    assert inspect_store(path).findings == [
        "entry 1 of chat:/b is not as it was written",
        "the snapshot of chat:/a is not as it was written",
    ]


async def test_damage_to_an_earlier_snapshot_is_found_and_leaves_the_last_one_good(
    path: Path,
) -> None:
    async with SqliteStore(path) as store:
        await store.reserve(20)
        await store.write(SaveSnapshot("chat:/b", "chat", 2, b"later-b"))
        await store.seal(10)
    spoil(path, b"state-b", b"stbte-b")
    async with SqliteStore(path) as store:
        last = await store.load_channel("chat:/b", 2)
        assert last is not None
        assert last.state == b"later-b"
        with pytest.raises(StoreDamaged):
            await store.load_channel("chat:/b", 1)
    (finding,) = inspect_store(path).findings
    assert "the earlier snapshot of chat:/b is not as it was written" in finding


@pytest.mark.parametrize("instead", [b"summary-x", b"summary-\xff"])
async def test_a_list_goes_on_without_a_damaged_row(
    path: Path, instead: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(path, b"summary-b", instead)
    spoil(path, b"value-b", b"value-x")
    async with SqliteStore(path) as store:
        with caplog.at_level(logging.ERROR):
            page = await store.page_sessions(2)
            assert [uri for uri, _ in page.items] == ["session:/c"]
            page = await store.page_sessions(2, page.next_cursor)
            assert [uri for uri, _ in page.items] == ["session:/a"]
            assert (await store.records("bucket")).keys() == {"a", "c"}
    told = " ".join(record.getMessage() for record in caplog.records)
    assert "session 'session:/b' is damaged" in told
    assert "bucket 'b' is damaged" in told


@pytest.mark.parametrize(
    "what", ["uri = x'62'", "sort_key = x'62'", "uri = x'62', sort_key = x'62'"]
)
async def test_a_session_whose_words_are_bytes_hides_no_other(path: Path, what: str) -> None:
    with closing(connect_writer(str(path), synchronous="FULL")) as connection:
        connection.execute(f"UPDATE session SET {what} WHERE uri = 'session:/b'")
    async with SqliteStore(path) as store:
        page = await store.page_sessions(10)
        assert [uri for uri, _ in page.items] == ["session:/c", "session:/a"]


async def test_a_text_that_is_none_any_more_hides_no_other_row(path: Path) -> None:
    spoil(path, b"key-b", b"key\xff\xff")
    async with SqliteStore(path) as store:
        page = await store.page_sessions(10)
        assert [uri for uri, _ in page.items] == ["session:/c", "session:/a"]


async def test_a_damage_is_told_with_what_and_where_and_what_to_do(path: Path) -> None:
    spoil(path, b"action-b", b"action-x")
    async with SqliteStore(path) as store:
        with pytest.raises(
            StoreDamaged, match=r"of chat:/b .*\(entry 2 of its log\).*doctor --deep"
        ):
            await store.load_channel("chat:/b")


async def test_what_is_written_again_is_sound_again(path: Path) -> None:
    spoil(path, b"summary-b", b"summary-c")
    spoil(path, b"state-b", b"state-c")
    async with SqliteStore(path) as store:
        await store.write(
            PutSession("session:/b", "key-b", b"new"), SaveSnapshot("chat:/b", "chat", 3, b"{}")
        )
        assert await store.session_summary("session:/b") == b"new"
        loaded = await store.load_channel("chat:/b")
        assert loaded is not None
        assert loaded.state == b"{}"


# A store from before there were checksums.


def old_store(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, str(path), MIGRATIONS[:1])
        connection.executescript(
            """
            UPDATE sequence SET value = 5;
            INSERT INTO channel VALUES (1, 'chat:/old', 0);
            INSERT INTO snapshot VALUES (1, 'chat', 3, x'7b7d');
            INSERT INTO log VALUES (4, 1, 'then', x'7b7d', NULL), (5, 1, 'then', x'7b7d', x'7b7d');
            INSERT INTO session VALUES ('session:/old', 'k', x'7b7d');
            INSERT INTO blob VALUES ('blob:/old', 'owner', NULL, x'00');
            INSERT INTO record VALUES ('bucket', 'old', x'01');
            """
        )


async def test_a_store_from_before_is_taken_as_it_is_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    old_store(path)
    # Looking at it does not change it.
    before = path.read_bytes()
    found = inspect_store(path)
    assert (found.rows, found.unchecked, found.damages) == (6, 6, 0)
    assert path.read_bytes() == before
    for _ in range(2):
        async with SqliteStore(path) as store:
            loaded = await store.load_channel("chat:/old")
            assert loaded is not None
            assert [entry.seq for entry in loaded.tail] == [4, 5]
            assert await store.session_summary("session:/old") == b"{}"
            assert await store.blob("blob:/old") == Blob("owner", None, b"\0")
            assert await store.record("bucket", "old") == b"\1"
    await fill(path, first=6)
    found = inspect_store(path)
    assert (found.rows, found.unchecked, found.damages) == (21, 6, 0)
    spoil(path, b"action-a", b"action-x")
    (told,) = inspect_store(path).findings
    assert told == "entry 6 of chat:/a is not as it was written"


# Looking at the whole.


async def test_a_store_can_be_looked_at_while_a_host_uses_it(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.write(PutRecord("bucket", "new", b"x"))
        found = inspect_store(path)
        assert (found.rows, found.damages) == (16, 0)
        await store.write(PutRecord("bucket", "newer", b"x"))


async def test_everything_that_is_wrong_is_told_and_bounded(path: Path) -> None:
    with closing(connect_writer(str(path), synchronous="OFF")) as connection:
        connection.execute("DELETE FROM channel WHERE uri = 'chat:/a'")
        connection.executemany(
            "INSERT INTO record VALUES ('many', ?, x'00', 7)", [(str(n),) for n in range(300)]
        )
    found = inspect_store(path)
    assert found.damages == 302
    assert len(found.findings) == MOST_FINDINGS
    assert found.findings[:2] == [
        "entries of a channel that is gone: 1",
        "snapshots of a channel that is gone: 1",
    ]


async def test_a_file_that_no_host_would_open_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"no database at all " * 100)
    (told,) = inspect_store(path).findings
    assert "is not an SQLite database" in told


async def test_pages_of_garbage_do_not_end_the_look_at_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await store.reserve(5000)
        for n in range(1, 3000):
            store.write(Append(n, "chat:/a", "now", b"x" * 100))
        await store.write(PutRecord("bucket", "k", b"value-k"))
        await store.seal(3000)
    data = bytearray(path.read_bytes())
    middle = len(data) // 4096 // 2 * 4096
    data[middle : middle + 8192] = b"\xff" * 8192
    path.write_bytes(data)
    spoil(path, b"value-k", b"value-x")
    findings = inspect_store(path).findings
    assert any("log: not readable to its end" in finding for finding in findings)
    assert "the record bucket k is not as it was written" in findings
