"""Content of an older form is brought up when a store is opened, or left as it is and told."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from agenthost.host.store import (
    Append,
    PutRecord,
    PutSession,
    SaveSnapshot,
    SqliteStore,
    StoreDamaged,
    StoreError,
    upgrade_copy,
)
from agenthost.host.store.inspection import inspect_store
from agenthost.host.store.schema import MIGRATIONS, migrate
from agenthost.host.store.upgrade import (
    NewChannel,
    OldChannel,
    ReadState,
    UpgradeProgress,
    UpgradeReport,
)
from agenthost.host.store.upgrade_parts import MOST_ROWS
from agenthost.host.store.upgrade_run import keep_copy
from tests.host.store.old_data import rows_of

MANY = 3 * MOST_ROWS


class Toy:
    """Content is a list of words; the newer form has them in capitals."""

    newest, first, owners = "2.0.0", "1.0.0", "owners"
    late_kinds: Sequence[str] = ("index",)
    buckets: Sequence[str] = ("words",)

    def __init__(self, die_at: int = -1) -> None:
        self.seen: list[str] = []
        self._die_at = die_at

    def knows(self, version: str) -> bool:
        return version in ("1.0.0", "2.0.0")

    def channel(self, version: str, old: OldChannel, read_state: ReadState) -> NewChannel:
        assert version == "1.0.0"
        if len(self.seen) == self._die_at:
            raise sqlite3.OperationalError("disk I/O error")
        self.seen.append(old.uri)
        words = orjson.loads(old.stored.state)
        words += [entry.action.decode() for entry in old.stored.tail]
        if old.stored.kind == "index":
            other = read_state(old.owner or "")
            return NewChannel(other if other is not None else b'["nothing"]')
        actions = {entry.seq: entry.action.upper() for entry in old.sent}
        return NewChannel(self._up(words), actions)

    def record(self, version: str, bucket: str, key: str, value: bytes) -> bytes:
        return self._up(orjson.loads(value))

    def summary(self, version: str, session: str, summary: bytes, state: bytes | None) -> bytes:
        words = orjson.loads(summary)
        return self._up([*words, *(orjson.loads(state) if state is not None else ["lost"])])

    def _up(self, words: list[str]) -> bytes:
        if "untranslatable" in words:
            raise ValueError("there is no capital for that")
        return orjson.dumps([word.upper() for word in words])


def store(path: Path, toy: Toy | None = None, **options: Any) -> SqliteStore:
    made = SqliteStore(path, **options)
    made.upgrade_with(toy or Toy())
    return made


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store with a snapshot, one before it, a log, an index that refers to it, and the rest."""
    path = tmp_path / "store.db"
    async with SqliteStore(path) as older:
        await older.reserve(100)
        await older.write(
            SaveSnapshot("chat:/a", "chat", 1, b'["hello"]'),
            Append(2, "chat:/a", "2026-01-01T00:00:00.000Z", b"dear"),
            SaveSnapshot("chat:/a", "chat", 2, b'["hello", "dear"]'),
            Append(3, "chat:/a", "2026-01-01T00:00:00.000Z", b"old", b'{"clientId": "c"}'),
            Append(4, "chat:/a", "2026-01-01T00:00:00.000Z", b"world"),
            SaveSnapshot("index:/a", "index", 5, b"[]"),
            PutRecord("owners", "index:/a", b"chat:/a"),
            SaveSnapshot("chat:/b", "chat", 6, b'["alone"]'),
            PutRecord("words", "k", b'["kept"]'),
            PutRecord("other", "k", b"not words"),
            PutSession("chat:/a", "2026", b'["line"]'),
            PutSession("chat:/c", "2025", b'["line"]'),
        )
        await older.seal(7)
    return path


class Seen(NamedTuple):
    """What a store answers."""

    a: bytes
    noted: bytes
    b: bytes
    words: bytes | None
    other: bytes | None
    summaries: list[bytes]


async def seen(opened: SqliteStore) -> Seen:
    async def state(uri: str) -> bytes:
        loaded = await opened.load_channel(uri)
        assert loaded is not None
        assert loaded.tail == ()
        return loaded.state

    states = await state("chat:/a"), await state("index:/a"), await state("chat:/b")
    page = await opened.page_sessions(10)
    words, other = [await opened.record(bucket, "k") for bucket in ("words", "other")]
    return Seen(*states, words, other, [summary for _, summary in page.items])


UP = Seen(
    b'["HELLO","DEAR","OLD","WORLD"]',
    b'["HELLO","DEAR","OLD","WORLD"]',
    b'["ALONE"]',
    b'["KEPT"]',
    b"not words",
    [b'["LINE","HELLO","DEAR","OLD","WORLD"]', b'["LINE","LOST"]'],
)


async def test_everything_is_brought_up_once_and_the_copy_goes(path: Path) -> None:
    news: list[UpgradeProgress | UpgradeReport] = []
    async with store(path, on_upgrade=news.append) as opened:
        assert await seen(opened) == UP
        assert opened.upgrade_report is not None
        assert news[-1] == opened.upgrade_report
        assert opened.first_seq == 8
    begun, ended = news
    assert begun == UpgradeProgress("1.0.0", "2.0.0", sessions=2, done=0, channels=3)
    assert isinstance(ended, UpgradeReport)
    assert (ended.sessions, ended.channels, ended.damaged, ended.failed) == (2, 3, 0, 0)
    assert ended.copy is None
    assert not list(path.parent.glob("*.before-*"))
    assert inspect_store(path).damages == 0
    rows = rows_of(path)
    toy = Toy()
    async with store(path, toy, on_upgrade=news.append) as opened:
        assert opened.upgrade_report is None
        assert await seen(opened) == UP
    assert (toy.seen, len(news)) == ([], 2)
    assert rows_of(path) == rows


async def test_nothing_from_before_is_replayed_but_what_clients_sent_is_known(path: Path) -> None:
    async with store(path) as opened:
        assert await opened.channel_positions(["chat:/a", "chat:/b"]) == {
            "chat:/a": 4,
            "chat:/b": 6,
        }
        left = await opened.read_after(0, ["chat:/a", "chat:/b", "index:/a"])
        assert [(entry.seq, entry.action, entry.origin) for entry in left] == [
            (3, b"OLD", b'{"clientId": "c"}')
        ]
        assert await opened.load_channel("chat:/a", at_most=2) is None


async def test_a_new_store_has_nothing_to_bring_up(tmp_path: Path) -> None:
    path = tmp_path / "new" / "store.db"
    for _ in range(2):
        toy = Toy()
        async with store(path, toy) as opened:
            assert opened.upgrade_report is None
            await opened.write(SaveSnapshot("chat:/a", "chat", 0, b'["NEW"]'))
        assert toy.seen == []
    assert not list(path.parent.glob("*.before-*"))


@pytest.mark.parametrize("die_at", [0, 1, MOST_ROWS - 1, MOST_ROWS + 1, MANY - 1])
async def test_an_upgrade_that_ends_half_way_goes_on_behind_its_last_batch(
    tmp_path: Path, die_at: int
) -> None:
    path = tmp_path / "store.db"
    uris = [f"chat:/{number:03}" for number in range(MANY)]
    async with SqliteStore(path) as older:
        await older.write(*(SaveSnapshot(uri, "chat", 0, b'["word"]') for uri in uris))
    first = Toy(die_at)
    with pytest.raises(StoreError, match="disk I/O error"):
        await store(path, first).__aenter__()
    assert first.seen == uris[:die_at]
    assert upgrade_copy.copy_path(str(path), Toy.newest) in map(str, path.parent.iterdir())
    second = Toy()
    async with store(path, second) as opened:
        report = opened.upgrade_report
        assert report is not None
        assert report.channels == MANY
        for uri in uris:
            loaded = await opened.load_channel(uri)
            assert loaded is not None
            assert loaded.state == b'["WORD"]'
    assert second.seen == uris[die_at - die_at % MOST_ROWS :]
    assert not list(path.parent.glob("*.before-*"))


def hashes(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("column", ["version", "becoming"])
async def test_a_newer_store_is_refused_and_left_untouched(path: Path, column: str) -> None:
    async with store(path):
        pass
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute(f"UPDATE content SET {column} = '3.1.0'")
    before = hashes(path.parent)
    words = (
        r"holds sessions of protocol 3\.1\.0, .* newer agenthost; .* up to 2\.0\.0\. Nothing was"
    )
    for _ in range(2):
        with pytest.raises(StoreError, match=words):
            await store(path).__aenter__()
    assert hashes(path.parent) == before


async def test_a_newer_schema_is_refused_and_left_untouched(path: Path) -> None:
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("PRAGMA user_version = 99")
    before = hashes(path.parent)
    with pytest.raises(StoreError, match=r"schema version 99.*newer agenthost"):
        await store(path).__aenter__()
    assert hashes(path.parent) == before


async def test_a_newer_store_that_was_killed_keeps_all_it_wrote(path: Path, tmp_path: Path) -> None:
    """What says that it is newer may be in the write-ahead log alone."""
    async with store(path):
        pass
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("UPDATE content SET version = '3.1.0'")
        plain.commit()
        for file in (path, path.with_name("store.db-wal")):
            shutil.copy(file, crashed)
    before = hashes(crashed)
    with pytest.raises(StoreError, match=r"protocol 3\.1\.0"):
        await store(crashed / "store.db").__aenter__()
    assert before.items() <= hashes(crashed).items()


def damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as plain, plain:
        assert plain.execute(statement).rowcount == 1


async def test_damaged_rows_are_left_as_they_are_and_counted(path: Path) -> None:
    b = "(SELECT id FROM channel WHERE uri = 'chat:/b')"
    damage(path, f"UPDATE snapshot SET state = '[\"olone\"]' WHERE channel = {b}")
    damage(path, "UPDATE record SET value = '[\"kapt\"]' WHERE bucket = 'words'")
    damage(path, "UPDATE session SET summary = '[\"lime\"]' WHERE uri = 'chat:/c'")
    before = rows_of(path)
    async with store(path) as opened:
        report = opened.upgrade_report
        assert report is not None
        assert (report.damaged, report.failed, report.copy) == (3, 0, None)
        with pytest.raises(StoreDamaged):
            await opened.load_channel("chat:/b")
        with pytest.raises(StoreDamaged):
            await opened.record("words", "k")
        assert [uri for uri, _ in (await opened.page_sessions(10)).items] == ["chat:/a"]
        loaded = await opened.load_channel("chat:/a")
        assert loaded is not None
        assert loaded.state == UP.a
    after = rows_of(path)
    for table in ("snapshot", "record", "session"):
        assert len(set(before[table]) & set(after[table])) >= 1
    assert inspect_store(path).damages == 3


async def test_a_damaged_log_leaves_its_channel_as_it_is(path: Path) -> None:
    damage(path, "UPDATE log SET action = 'wurld' WHERE seq = 4")
    async with store(path) as opened:
        report = opened.upgrade_report
        assert report is not None
        assert report.damaged == 1
        with pytest.raises(StoreDamaged, match="entry 4"):
            await opened.load_channel("chat:/a")
        # Nobody is sent what is left of it as if it were of the new form.
        assert (await opened.channel_positions(["chat:/a"]))["chat:/a"] == 4
        index = await opened.load_channel("index:/a")
        assert index is not None
        assert index.state == b'["nothing"]'


async def test_a_damaged_snapshot_is_made_again_from_the_one_before(path: Path) -> None:
    a = "(SELECT id FROM channel WHERE uri = 'chat:/a')"
    damage(path, f"UPDATE snapshot SET state = '[\"hullo\"]' WHERE channel = {a}")
    async with store(path) as opened:
        assert await seen(opened) == UP
        report = opened.upgrade_report
        assert report is not None
        assert report.damaged == 0


async def test_what_cannot_be_brought_up_is_marked_and_the_copy_stays(path: Path) -> None:
    async with SqliteStore(path) as older:
        await older.write(
            SaveSnapshot("chat:/b", "chat", 7, b'["untranslatable"]'),
            PutRecord("words", "k", b'["untranslatable"]'),
            PutSession("chat:/c", "2025", b'["untranslatable"]'),
        )
    for _ in range(2):
        async with store(path) as opened:
            loaded = await opened.load_channel("chat:/a")
            assert loaded is not None
            assert loaded.state == UP.a
            for asked in (opened.load_channel("chat:/b"), opened.record("words", "k")):
                with pytest.raises(StoreDamaged):
                    await asked
            assert len((await opened.page_sessions(10)).items) == 1
            if (report := opened.upgrade_report) is not None:
                assert (report.damaged, report.failed) == (0, 3)
                assert report.copy == f"{path}.before-2.0.0"
        copy = path.with_name("store.db.before-2.0.0")
        assert inspect_store(copy).damages == 0
        kept = [row[3] for row in rows_of(copy)["snapshot"]]
        assert b'["untranslatable"]' in kept
    # The snapshot before that of the channel is marked too.
    findings = inspect_store(path).findings
    assert len([finding for finding in findings if "could not be brought up" in finding]) == 4


async def test_without_room_for_a_copy_nothing_is_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(path)
    usage = shutil.disk_usage(path.parent)._replace(free=1000)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: usage)
        with pytest.raises(StoreError, match=r"needs 1 MB of free space, .* Nothing was changed"):
            await store(path).__aenter__()
    assert rows_of(path) == rows
    assert not list(path.parent.glob("*.before-*"))
    async with store(path) as opened:
        assert await seen(opened) == UP


async def test_a_copy_that_an_older_host_can_open_is_kept_once_the_schema_is_newer(
    path: Path,
) -> None:
    copy = path.with_name("store.db.before-2.0.0")
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("UPDATE content SET version = '1.0.0'")
        plain.execute(f"PRAGMA user_version = {len(MIGRATIONS) - 1}")
    keep_copy(str(path), Toy())
    # Killed between the new schema and the new content.
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        migrate(plain, str(path))
    keep_copy(str(path), Toy())
    with closing(sqlite3.connect(copy)) as copied:
        assert copied.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) - 1,)


async def test_a_copy_of_a_start_that_was_killed_is_made_again(path: Path) -> None:
    """An older host may have run since, if the store itself was not changed yet."""
    path.with_name("store.db.before-2.0.0").write_bytes(b"half of a copy")
    with closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("UPDATE content SET version = '1.0.0'")
    copies: list[int] = []

    def look(news: UpgradeProgress | UpgradeReport) -> None:
        if isinstance(news, UpgradeProgress):
            copies.append(inspect_store(f"{path}.before-2.0.0").damages)

    async with store(path, on_upgrade=look) as opened:
        assert await seen(opened) == UP
    assert copies == [0]
