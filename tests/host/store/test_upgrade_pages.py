"""A store with a damaged page is brought up all the same, but for what is on that page."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from agenthost.host.store import (
    Append,
    PutSession,
    SaveSnapshot,
    SqliteStore,
    StoreDamaged,
    upgrade_parts,
)
from tests.host.store.test_upgrade import Toy, store

TABLE_LEAF = 0x0D
NOW = "2026-01-01T00:00:00.000Z"
URIS = [f"chat:/{number:04}" for number in range(400)]
# In the middle, so that there are pages on both sides.
SPOILED = URIS[200]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store whose tables have several pages each."""
    path = tmp_path / "store.db"
    async with SqliteStore(path) as older:
        await older.reserve(1000)
        for number, uri in enumerate(URIS, 1):
            await older.write(
                SaveSnapshot(uri, "chat", 0, f'["state {uri} {"." * 40}"]'.encode()),
                Append(number, uri, NOW, f"entry {uri} {'.' * 200}".encode()),
                PutSession(uri, "2026", f'["line {uri} {"." * 40}"]'.encode()),
            )
    return path


def spoil(path: Path, content: bytes) -> None:
    """Overwrite the one page of a table that holds this."""
    data = bytearray(path.read_bytes())
    (size,) = struct.unpack(">H", data[16:18])
    starts = range(size, len(data), size)
    found = [at for at in starts if data[at] == TABLE_LEAF and content in data[at : at + size]]
    assert len(found) == 1
    data[found[0] : found[0] + size] = bytes(size)
    path.write_bytes(data)


def rows(path: Path, query: str) -> int:
    with closing(sqlite3.connect(path)) as plain:
        return int(plain.execute(query).fetchone()[0])


@pytest.mark.parametrize("what", ["state", "entry"])
async def test_channels_on_a_damaged_page_are_left_and_all_others_brought_up(
    path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(path, f"{what} {SPOILED}".encode())
    async with store(path) as opened:
        report = opened.upgrade_report
        assert report is not None
        lost = 0
        for uri in URIS:
            try:
                loaded = await opened.load_channel(uri)
            except StoreDamaged:
                lost += 1
            else:
                assert loaded is not None
                assert loaded.state.startswith(b'["STATE CHAT')
        with pytest.raises(StoreDamaged):
            await opened.load_channel(SPOILED)
        # The lines of the list that tell of lost states say so.
        assert 1 <= lost <= report.damaged + report.failed <= 2 * lost < 200
    named = [record.message for record in caplog.records if "damaged page" in record.message]
    assert len(named) == len(set(named))


async def test_sessions_on_a_damaged_page_are_left_and_all_others_brought_up(path: Path) -> None:
    spoil(path, f"line {SPOILED}".encode())
    toy = Toy()
    async with store(path, toy) as opened:
        report = opened.upgrade_report
        assert report is not None
        # Those on the pages beside it too, if they have grown and SQLite must make room.
        assert 1 <= report.damaged + report.failed < 200
        assert report.copy is not None
        assert report.sessions == len(URIS)
        for uri in (URIS[0], SPOILED, URIS[-1]):
            assert await opened.load_channel(uri) is not None
        last = await opened.session_summary(URIS[-1])
        assert last is not None
        assert last.startswith(b'["LINE CHAT')
    assert len(toy.seen) == len(URIS)


async def test_no_row_is_tried_more_than_twice_however_many_are_damaged(path: Path) -> None:
    for uri in (URIS[50], URIS[100], SPOILED, URIS[300]):
        spoil(path, f"entry {uri}".encode())
    toy = Toy()
    async with store(path, toy) as opened:
        assert opened.upgrade_report is not None
    assert max(toy.seen.count(uri) for uri in URIS) <= 2


async def test_a_file_too_damaged_for_it_is_told_with_its_copy_and_not_called_unchanged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(path, f"line {SPOILED}".encode())
    # As when the index, which has the names of what is on that page, is damaged as well.
    names = "SELECT CAST(summary AS BLOB) FROM session WHERE uri > CAST(? AS TEXT) LIMIT ?"
    monkeypatch.setattr(upgrade_parts, "SESSION_NAMES", names)
    with pytest.raises(StoreDamaged) as caught:
        await store(path).__aenter__()
    assert f"{path}.before-2.0.0 is a copy from before" in str(caught.value)
    assert "not changed" not in str(caught.value)
    assert rows(Path(f"{path}.before-2.0.0"), "SELECT count(*) FROM channel") == len(URIS)


async def test_a_channel_is_brought_up_without_what_was_sent_to_it_if_that_is_damaged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as older:
        await older.reserve(10)
        await older.write(
            SaveSnapshot("chat:/a", "chat", 0, b"[]"),
            Append(1, "chat:/a", NOW, b"hello", b'{"clientId": "c"}'),
            SaveSnapshot("chat:/a", "chat", 1, b'["hello"]'),
        )
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("UPDATE log SET action = 'hullo' WHERE seq = 1")
    async with store(path) as opened:
        loaded = await opened.load_channel("chat:/a")
        assert loaded is not None
        # Not the old form, which nobody could tell from the new one.
        assert loaded.state == b'["HELLO"]'
