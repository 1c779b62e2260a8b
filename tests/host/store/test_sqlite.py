"""What is promised of the SQLite store alone: its file, its owner, its end by force."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import select
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agenthost.host.store import (
    Append,
    DropBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    SqliteStore,
    StoreBusy,
    StoreError,
    store_lock,
)
from agenthost.host.store.files import WAL_BYTES

REPOSITORY = Path(__file__).parents[3]


def victim(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.host.store.victim", *args],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_and_kill(path: Path, after: int) -> list[list[str]]:
    """Let a process write until it has acknowledged ``after`` units, then kill it."""
    process = victim("forever", str(path))
    assert process.stdout is not None
    lines: list[str] = []
    stored = 0
    while stored < after:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        lines.append(line)
        stored += line.startswith("stored")
    process.send_signal(signal.SIGKILL)
    # What it said between our last look and its end counts too.
    rest, _ = process.communicate()
    return [line.split() for line in (*lines, *rest.splitlines())]


def numbers(said: list[list[str]], word: str) -> list[int]:
    return [int(line[1]) for line in said if line[0] == word]


@pytest.mark.parametrize("seed", range(4))
async def test_kill_9_loses_nothing_acknowledged_and_repeats_no_number(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "store.db"
    moments = random.Random(seed)
    used = 0
    for _ in range(3):
        said = await asyncio.to_thread(run_and_kill, path, moments.randint(1, 800))
        assert numbers(said, "first")[0] > used
        used, stored = max(numbers(said, "used")), max(numbers(said, "stored"))
        store = SqliteStore(path)
        async with store:
            progress = await store.record("progress", "last")
            assert progress is not None
            # A unit is whole: the record of one names the last entry of the same one.
            assert int(progress) == store.last_seq >= stored
            assert store.first_seq > used
            loaded = await store.load_channel("chat:/a")
            after = loaded.trimmed_through if loaded is not None else 0
            entries = await store.read_after(after, ["chat:/a"])
            kept = {entry.seq for entry in entries}
            assert all(seq in kept or seq <= after for seq in numbers(said, "stored"))
            await store.seal(store.first_seq - 1)
            used = store.first_seq - 1


async def test_a_full_disk_fails_the_store_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    process = victim("full", str(path), str(1024 * 1024))
    said, complaint = await asyncio.to_thread(process.communicate)
    lines = [line.split(maxsplit=1) for line in said.splitlines()]
    stored = [int(line[1]) for line in lines if line[0] == "stored"]
    assert stored
    assert [line[0] for line in lines[-2:]] == ["failed", "refused"]
    # Leaving the store is no quiet matter either.
    assert process.returncode == 1
    assert "StoreError" in complaint
    async with SqliteStore(path) as store:
        assert {f"{n:05}" for n in stored} <= (await store.records("fill")).keys()


# Owns a store as a host does whose child has not come to its program yet when it is killed. Says
# the child's number; that one ends with its input.
FORKED = """
import os, signal, sys
from agenthost.host.store.store_lock import Ownership
open(sys.argv[1], "a").close()
Ownership(sys.argv[1]).take_database()
if os.fork() == 0:
    print(os.getpid(), flush=True)
    sys.stdin.read()
else:
    signal.pause()
"""


def ended(pid: int) -> None:
    """Kill a process that is nobody's child here, and wait for its end."""
    descriptor = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([descriptor], [], [])
    os.close(descriptor)


def test_a_killed_owners_child_that_was_just_forked_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    words = [sys.executable, "-c", FORKED, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        process.wait()
        # While it waits, the child ends.
        monkeypatch.setattr(store_lock, "_pause", lambda: ended(child))
        owned = store_lock.Ownership(str(path))
        owned.take_database()
        owned.release()


async def test_a_killed_owner_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    process = victim("forever", str(path))
    assert process.stdout is not None
    assert (await asyncio.to_thread(process.stdout.readline)).startswith("first")
    with pytest.raises(StoreBusy, match=rf"store\.db is in use .*process {process.pid}"):
        await SqliteStore(path).__aenter__()
    process.kill()
    await asyncio.to_thread(process.communicate)
    async with SqliteStore(path):
        pass


@pytest.mark.parametrize("kind", ["deleted", "made anew", "taken by another"])
async def test_without_its_lock_file_a_store_still_has_one_owner(tmp_path: Path, kind: str) -> None:
    path, lock = tmp_path / "store.db", tmp_path / "store.db.lock"
    process = victim("forever", str(path))
    assert process.stdout is not None
    try:
        assert (await asyncio.to_thread(process.stdout.readline)).startswith("first")
        lock.unlink()
        if kind == "made anew":
            lock.write_text("1")
        for _ in range(2 if kind == "taken by another" else 1):
            with pytest.raises(StoreBusy, match=r"store\.db is in use .*lock was deleted"):
                await SqliteStore(path).__aenter__()
        second = victim("full", str(path), str(1024 * 1024))
        assert "StoreBusy" in (await asyncio.to_thread(second.communicate))[1]
    finally:
        process.kill()
        said = (await asyncio.to_thread(process.communicate))[0]
    assert "stored" in said
    async with SqliteStore(path) as store:
        # It went on undisturbed until its end.
        assert int(await store.record("progress", "last") or 0) == store.last_seq


async def test_two_stores_in_one_process_have_one_owner_without_the_lock_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await store.write(PutRecord("b", "k", b"v"))
        for _ in range(2):
            (tmp_path / "store.db.lock").unlink()
            with pytest.raises(StoreBusy):
                await SqliteStore(path).__aenter__()
        # The refusal has not cost the owner its locks: nobody else takes its log for a leftover.
        with contextlib.closing(sqlite3.connect(path)) as other:
            assert other.execute("SELECT count(*) FROM record").fetchone() == (1,)
        assert (tmp_path / "store.db-wal").exists()
        await store.write(PutRecord("b", "k2", b"v"))
        assert (await store.records("b")).keys() == {"k", "k2"}
    async with SqliteStore(path) as store:
        assert (await store.records("b")).keys() == {"k", "k2"}


async def test_two_names_of_one_file_meet_at_one_lock(tmp_path: Path) -> None:
    (tmp_path / "alias.db").symlink_to(tmp_path / "store.db")
    async with SqliteStore(tmp_path / "store.db"):
        with pytest.raises(StoreBusy):
            await SqliteStore(tmp_path / "alias.db").__aenter__()


async def test_a_unit_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await store.reserve(10)
    plant_a_failure(path)
    store = await SqliteStore(path).__aenter__()
    await store.reserve(20)
    lost = (
        Append(15, "chat:/a", "now", b""),
        PutRecord("b", "good", b""),
        PutRecord("b", "bad", b""),
    )
    with pytest.raises(StoreError, match="planted"):
        await store.write(*lost)
    with pytest.raises(StoreError, match="planted"):
        await store.write(PutRecord("b", "later", b""))
    assert await store.records("b") == {}
    assert await store.read_after(0, ["chat:/a"]) == []
    assert store.pending == 0
    with pytest.raises(StoreError, match="planted"):
        await store.__aexit__(None, None, None)


def plant_a_failure(path: Path) -> None:
    """Make the database refuse one key."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON record WHEN new.key = 'bad' "
            "BEGIN SELECT RAISE(ABORT, 'planted'); END"
        )


async def test_files_are_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "data" / "store.db"
    before = os.umask(0)
    try:
        async with SqliteStore(path) as store:
            await store.write(PutRecord("b", "k", b"v"))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(
        ["store.db", "store.db-wal", "store.db-shm", "store.db.lock"], 0o600
    )
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_clean_end_leaves_one_file_and_its_lock(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "store.db") as store:
        await store.write(PutRecord("b", "k", b"v"))
        await store.record("b", "k")
    assert sorted(os.listdir(tmp_path)) == ["store.db", "store.db.lock"]


async def test_the_write_ahead_log_stays_small(tmp_path: Path) -> None:
    size = 100_000
    wal = tmp_path / "store.db-wal"
    async with SqliteStore(tmp_path / "store.db") as store:
        for n in range(150):
            await store.write(PutRecord("b", f"{n % 10}", bytes([n]) * size))
            # One commit may exceed the limit, and one more comes before it shrinks.
            assert wal.stat().st_size <= WAL_BYTES + 3 * size


async def test_a_path_that_cannot_be_reached_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(StoreError, match="file"):
        await SqliteStore(tmp_path / "file" / "store.db").__aenter__()


async def test_a_path_may_hold_letters_that_uris_reserve(tmp_path: Path) -> None:
    path = tmp_path / "50% of ?a=b#c ü" / "store.db"
    async with SqliteStore(path) as store:
        await store.write(PutRecord("b", "k", b"v"))
        assert await store.record("b", "k") == b"v"
    assert path.exists()


async def test_full_durability_is_the_same_store(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "store.db", durability="full") as store:
        await store.reserve(10)
        await store.write(Append(1, "chat:/a", "now", b"x"), PutSession("s", "k", b"{}"))
        await store.seal(1)
    async with SqliteStore(tmp_path / "store.db") as store:
        assert (store.last_seq, await store.count_sessions()) == (1, 1)


async def test_reads_run_beside_each_other_and_beside_writes(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "store.db") as store:
        await store.reserve(5000)
        writes = [store.write(Append(n, "chat:/a", "now", b"x")) for n in range(1, 2001)]
        counts = await asyncio.gather(*(store.read_after(0, ["chat:/a"]) for _ in range(10)))
        await asyncio.gather(*writes)
        # Whatever moment a read saw, it saw it whole and from the beginning.
        for found in counts:
            assert [entry.seq for entry in found] == list(range(1, len(found) + 1))
        assert len(await store.read_after(0, ["chat:/a"])) == 2000


async def test_a_store_gives_back_the_room_of_what_was_dropped(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    async with SqliteStore(path) as store:
        for number in range(100):
            await store.write(PutBlob(f"blob:/{number}", "owner", None, os.urandom(10_000)))
    large = path.stat().st_size
    async with SqliteStore(path) as store:
        await store.write(DropBlobs("owner"))
    assert path.stat().st_size < large / 5


async def test_a_store_that_was_closed_is_free_though_a_child_still_has_its_files(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    read, write = os.pipe()
    async with SqliteStore(path):
        child = os.fork()
        if child == 0:
            # As between the fork and the exec of any program that a host starts.
            os.close(write)
            os.read(read, 1)
            os._exit(0)
    try:
        async with SqliteStore(path) as store:
            assert await store.count_sessions() == 0
    finally:
        os.close(write)
        os.close(read)
        await asyncio.to_thread(os.waitpid, child, 0)
