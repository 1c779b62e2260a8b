"""Backups are made beside whoever writes, of one moment, whole or not at all."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agenthost.cli import data_dir as places
from agenthost.host.backup import BackupError, save_backup, write_backup
from agenthost.host.backup.contents import STORE, WORKSPACE
from agenthost.host.store import PutRecord, SqliteStore

REPOSITORY = Path(__file__).parents[3]
NOW = 1_800_000_000.0


@contextmanager
def writing(store: Path, units: int) -> Iterator[subprocess.Popen[str]]:
    """Have another process write to a store all the time; it has written so many units already."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.host.store.victim", "forever", str(store)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        while units:
            units -= process.stdout.readline().startswith("stored")
        yield process
    finally:
        process.kill()
        process.communicate()


async def make_data(folder: Path) -> None:
    async with SqliteStore(folder / STORE) as store:
        await store.write(PutRecord("kept", "here", b"1"))
    (folder / "token").write_text("secret of the owner")
    (folder / "host.json").write_text("{}")
    (folder / WORKSPACE / "deep").mkdir(parents=True)
    (folder / WORKSPACE / "deep" / "object").write_bytes(b"\0" * 1000)


def members(file: Path) -> dict[str, bytes]:
    with tarfile.open(file) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def test_names_are_those_of_the_data_directory() -> None:
    assert (STORE, WORKSPACE) == (places.STORE_FILE, places.WORKSPACE_FOLDER)


def test_a_backup_beside_a_writer_is_of_one_moment(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with writing(folder / STORE, units=30) as writer:
        report = save_backup(folder, tmp_path / "b.tar", now=NOW)
        assert writer.poll() is None
    assert report.damages == 0
    (tmp_path / "copy").write_bytes(members(tmp_path / "b.tar")[STORE])
    with closing(sqlite3.connect(tmp_path / "copy")) as copy:
        [(ok,)] = copy.execute("PRAGMA integrity_check")
        entries = [seq for (seq,) in copy.execute("SELECT seq FROM log ORDER BY seq")]
        [(last,)] = copy.execute("SELECT value FROM record WHERE bucket = 'progress'")
    assert ok == "ok"
    # The record is written in one unit with the entries that it tells of, unless all are trimmed.
    assert entries == list(range(int(last) + 1 - len(entries), int(last) + 1))
    assert int(last) >= 90


async def test_what_is_in_it_and_what_is_not(tmp_path: Path) -> None:
    await make_data(tmp_path)
    report = save_backup(tmp_path, tmp_path / "b.tar", now=NOW)
    found = members(tmp_path / "b.tar")
    assert list(found) == [
        *("manifest.json", STORE, "token", f"{WORKSPACE}/deep/object", "checksums.json")
    ]
    told = json.loads(found["manifest.json"])
    assert (told["format"], told["created"]) == (1, "2027-01-15T08:00:00+00:00")
    assert told["secrets"] is True
    assert (report.files, report.skipped) == (3, 0)
    assert stat.S_IMODE((tmp_path / "b.tar").stat().st_mode) == 0o600


async def test_tokens_can_be_left_out(tmp_path: Path) -> None:
    await make_data(tmp_path)
    save_backup(tmp_path, tmp_path / "b.tar", now=NOW, with_secrets=False)
    assert b"secret of the owner" not in (tmp_path / "b.tar").read_bytes()


async def test_links_and_pipes_are_not_followed_but_counted(tmp_path: Path) -> None:
    await make_data(tmp_path)
    (tmp_path / WORKSPACE / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / WORKSPACE / "pipe")
    assert save_backup(tmp_path, tmp_path / "b.tar", now=NOW).skipped == 2


async def test_a_stream_takes_the_same(tmp_path: Path) -> None:
    await make_data(tmp_path)
    stream = io.BytesIO()
    write_backup(tmp_path, stream, now=NOW)
    save_backup(tmp_path, tmp_path / "b.tar", now=NOW)
    (tmp_path / "streamed.tar").write_bytes(stream.getvalue())
    assert members(tmp_path / "streamed.tar") == members(tmp_path / "b.tar")


async def test_damaged_rows_are_told(tmp_path: Path) -> None:
    await make_data(tmp_path)
    with closing(sqlite3.connect(tmp_path / STORE)) as store, store:
        store.execute("UPDATE record SET value = x'32'")
    assert save_backup(tmp_path, tmp_path / "b.tar", now=NOW).damages == 1


def test_there_must_be_something_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="nothing to back up"):
        save_backup(tmp_path, tmp_path / "b.tar", now=NOW)
    assert list(tmp_path.iterdir()) == []


async def test_what_was_there_stays_when_it_fails(tmp_path: Path) -> None:
    await make_data(tmp_path)
    (tmp_path / STORE).write_bytes(b"something else")
    (tmp_path / "b.tar").write_bytes(b"the last backup")
    with pytest.raises(BackupError):
        save_backup(tmp_path, tmp_path / "b.tar", now=NOW)
    assert (tmp_path / "b.tar").read_bytes() == b"the last backup"
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


KILLED = """
import os, signal, sys
from pathlib import Path
from agenthost.host.backup import create
# In the middle: the store is in the file already, its end is not.
create._other_files = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
create.save_backup(Path(sys.argv[1]), Path(sys.argv[1], "b.tar"), now=0.0)
"""


async def test_a_killed_backup_leaves_no_file(tmp_path: Path) -> None:
    await make_data(tmp_path)
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "b.tar").exists()
