"""A backup is restored whole, into a directory that nobody uses, and hostile ones not at all."""

from __future__ import annotations

import io
import os
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from contextlib import closing
from itertools import count, pairwise
from pathlib import Path

import pytest

from agenthost.host.backup import (
    BackupError,
    contents,
    finish_replacement,
    restore_backup,
    save_backup,
)
from agenthost.host.backup.contents import CHECKSUMS, MANIFEST, STORE, WORKSPACE
from agenthost.host.backup.numbers import AT_LEAST, PER_SECOND, skip_seen_numbers
from agenthost.host.backup.replacement import BEFORE, LOCK, READY
from agenthost.host.store import Append, PutRecord, SqliteStore

NOW = 1_800_000_000.0
Member = tuple[tarfile.TarInfo, bytes]


@pytest.fixture
async def backup(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    async with SqliteStore(folder / STORE) as store:
        await store.reserve(100)
        await store.write(Append(1, "chat:/a", "now", b"{}"), PutRecord("kept", "here", b"1"))
        await store.seal(1)
    (folder / "token").write_text("secret")
    (folder / WORKSPACE / "deep").mkdir(parents=True)
    (folder / WORKSPACE / "deep" / "tool").write_text("#!/bin/sh\n")
    (folder / WORKSPACE / "deep" / "tool").chmod(0o755)
    save_backup(folder, tmp_path / "b.tar", now=NOW)
    return tmp_path / "b.tar"


def restore(file: Path, target: Path, *, now: float = NOW, replace: bool = False) -> Path | None:
    with open(file, "rb") as source:
        return restore_backup(source, target, now=now, replace=replace).before


async def test_what_was_saved_comes_back(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "there" / "data"
    assert restore(backup, target) is None
    assert (target / "token").read_text() == "secret"
    tool = target / WORKSPACE / "deep" / "tool"
    assert stat.S_IMODE(tool.stat().st_mode) == 0o700
    assert stat.S_IMODE((target / STORE).stat().st_mode) == 0o600
    async with SqliteStore(target / STORE) as store:
        assert await store.record("kept", "here") == b"1"
    names = {path.name for path in target.iterdir()}
    assert names == {STORE, f"{STORE}.lock", "token", WORKSPACE}


async def test_numbers_that_anybody_can_have_seen_are_skipped(backup: Path, tmp_path: Path) -> None:
    restore(backup, tmp_path / "data")
    async with SqliteStore(tmp_path / "data" / STORE) as store:
        first = store.first_seq
        assert first > AT_LEAST
        assert store.gaps == ((1, first),)
        assert first < 2**53


async def test_restoring_twice_never_begins_at_the_same_number(
    backup: Path, tmp_path: Path
) -> None:
    firsts = []
    for number in range(3):
        restore(backup, tmp_path / str(number), now=NOW + number)
        async with SqliteStore(tmp_path / str(number) / STORE) as store:
            firsts.append(store.first_seq)
    assert [second - first for first, second in pairwise(firsts)] == [
        PER_SECOND,
        PER_SECOND,
    ]


async def test_a_wrong_clock_is_made_up_for_by_the_store_that_was_there(
    backup: Path, tmp_path: Path
) -> None:
    restore(backup, tmp_path / "data", now=NOW)
    restore(backup, tmp_path / "data", now=0.0, replace=True)
    async with SqliteStore(tmp_path / "data" / STORE) as store:
        assert store.first_seq > NOW * PER_SECOND + AT_LEAST


def test_numbers_that_are_used_up_are_said_to_be(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / STORE)) as store:
        store.executescript(
            "CREATE TABLE sequence (name, value); CREATE TABLE log (seq);"
            f"INSERT INTO sequence VALUES ('reserved', {2**62})"
        )
    with pytest.raises(BackupError, match="used up"):
        skip_seen_numbers(tmp_path / STORE, NOW)


async def test_nothing_that_is_there_is_lost(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "data"
    async with SqliteStore(target / STORE) as store:
        await store.write(PutRecord("mine", "here", b"2"))
    (target / "token").write_text("mine")
    (target / "logs").mkdir()
    with pytest.raises(BackupError, match="--replace"):
        restore(backup, target)
    assert (target / "token").read_text() == "mine"
    before = restore(backup, target, replace=True)
    assert before is not None
    assert (before / "token").read_text() == "mine"
    assert (target / "token").read_text() == "secret"
    # No write-ahead log of the old store lies beside the new one.
    expected = {STORE, f"{STORE}.lock", "token", WORKSPACE, "logs", before.name}
    assert set(os.listdir(target)) == expected
    async with SqliteStore(before / STORE) as store:
        assert await store.record("mine", "here") == b"2"


async def test_a_directory_in_use_is_not_touched(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "data"
    async with SqliteStore(target / STORE) as store:
        with pytest.raises(BackupError, match="stop it first"):
            restore(backup, target, replace=True)
        await store.write(PutRecord("mine", "here", b"2"))


def test_a_damaged_store_can_be_replaced(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "data"
    target.mkdir()
    (target / STORE).write_bytes(b"rubbish")
    before = restore(backup, target, replace=True)
    assert before is not None
    assert (before / STORE).read_bytes() == b"rubbish"


# A restore that is killed.


class Killed(BaseException):
    """Stands for the end of a process, which runs nothing more."""


def killed_after(renames: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the process end at the next rename after so many."""
    rename, made = Path.rename, 0

    def renamed(path: Path, target: Path) -> Path:
        nonlocal made
        made += 1
        if made > renames:
            raise Killed
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)


def content(folder: Path) -> dict[str, bytes | None]:
    """Return what lies in a directory, besides what earlier restores and locks left."""
    return {
        path.name: path.read_bytes() if path.is_file() else None
        for path in folder.iterdir()
        if not path.name.startswith((BEFORE, LOCK))
    }


@pytest.mark.parametrize("finishes", ["serve", "restore"])
async def test_a_restore_that_is_killed_is_finished_by_the_next_who_comes(
    backup: Path, tmp_path: Path, finishes: str
) -> None:
    outcomes = []
    for renames in count():
        target = tmp_path / f"data{renames}"
        async with SqliteStore(target / STORE) as store:
            await store.write(PutRecord("mine", "here", b"2"))
        (target / "push.json").write_text("{}")
        (target / "notes").write_text("mine")
        old, ended = content(target), True
        with pytest.MonkeyPatch.context() as monkeypatch:
            killed_after(renames, monkeypatch)
            try:
                restore(backup, target, replace=True)
            except Killed:
                ended = False
        if ended:
            break
        outcomes.append("all" if list(target.glob(f"{READY}*")) else "nothing")
        if outcomes[-1] == "nothing":
            assert old.items() <= content(target).items()
            continue
        if finishes == "serve":
            finish_replacement(target)
        else:
            with pytest.raises(BackupError, match="--replace"):
                restore(backup, target)
        (before,) = target.glob(f"{BEFORE}*")
        assert old.items() <= content(before).items()
        assert content(target).keys() == {STORE, "token", WORKSPACE}
        async with SqliteStore(target / STORE) as store:
            assert await store.record("kept", "here") == b"1"
        async with SqliteStore(before / STORE) as store:
            assert await store.record("mine", "here") == b"2"
    # The first step decides: files go, the folder is marked, three come.
    assert outcomes == ["nothing"] + ["all"] * (len(outcomes) - 1)
    assert len(outcomes) > len(old) + 3


def test_where_no_restore_was_killed_there_is_nothing_to_finish(tmp_path: Path) -> None:
    finish_replacement(tmp_path / "none")
    finish_replacement(tmp_path)
    assert not list(tmp_path.iterdir())


async def test_a_restore_is_not_finished_under_a_host(tmp_path: Path) -> None:
    (tmp_path / f"{READY}20260101T000000Z-abc").mkdir()
    async with SqliteStore(tmp_path / STORE):
        with pytest.raises(BackupError, match="stop it first"):
            finish_replacement(tmp_path)


# What somebody else may have made of it.


def read_members(file: Path) -> list[Member]:
    with tarfile.open(file) as archive:
        return [(member, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]


def write_members(file: Path, members: list[Member]) -> None:
    with tarfile.open(file, "w") as archive:
        for member, data in members:
            archive.addfile(member, io.BytesIO(data))


def member(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> Member:
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname = len(data), kind, link
    return made, data


def described(headers: dict[str, str]) -> Member:
    made, data = member("workspace/a", b"x")
    made.pax_headers = headers
    return made, data


def changed(members: list[Member], name: str, old: bytes, new: bytes) -> list[Member]:
    found = []
    for info, data in members:
        if info.name == name:
            assert old in data
            data = data.replace(old, new)
            info.size = len(data)
        found.append((info, data))
    return found


ATTACKS: dict[str, Callable[[list[Member]], list[Member]]] = {
    "leads out": lambda held: [held[0], member("workspace/../../evil", b"x"), *held[1:]],
    "absolute": lambda held: [held[0], member("/tmp/evil", b"x"), *held[1:]],
    "another file": lambda held: [held[0], member("host.json", b"{}"), *held[1:]],
    "a link": lambda held: [
        held[0],
        member("workspace/a", kind=tarfile.SYMTYPE, link="/etc"),
        *held[1:],
    ],
    "a hard link": lambda held: [
        held[0],
        member("workspace/a", kind=tarfile.LNKTYPE, link="/etc/passwd"),
        *held[1:],
    ],
    "a device": lambda held: [held[0], member("workspace/a", kind=tarfile.CHRTYPE), *held[1:]],
    "twice": lambda held: [*held[:2], held[1], *held[2:]],
    "not summed": lambda held: [*held[:-1], member("workspace/more", b"x"), held[-1]],
    "missing": lambda held: [held[0], *held[2:]],
    "no end": lambda held: held[:-1],
    "no manifest": lambda held: held[1:],
    "changed": lambda held: changed(held, "token", b"secret", b"SECRET"),
    "newer form": lambda held: changed(held, MANIFEST, b'"format": 1', b'"format": 2'),
    "newer store": lambda held: changed(held, MANIFEST, b'"schema": ', b'"schema": 99'),
    "no numbers": lambda held: changed(held, CHECKSUMS, b'"size": ', b'"size": "x", "y": '),
    "nested": lambda held: [member(MANIFEST, b"[" * 60_000), *held[1:]],
    "huge manifest": lambda held: [member(MANIFEST, b" " * 100_000), *held[1:]],
    "huge header": lambda held: [held[0], described({"comment": "x" * 100_000}), *held[1:]],
    "no map": lambda held: [held[0], described({"GNU.sparse.map": "x,y"}), *held[1:]],
    "no blocks": lambda held: [
        held[0],
        described({"GNU.sparse.size": "x", "GNU.sparse.numblocks": "1"}),
        *held[1:],
    ],
}


def test_a_header_that_promises_gigabytes_is_not_waited_for(backup: Path, tmp_path: Path) -> None:
    head, _ = described({})
    head.type, head.size = tarfile.XHDTYPE, 2**33

    class Endless(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert self.tell() < 2**20, "it goes on reading"
            return super().read(size) or b"\0" * min(size or 0, 512)

    start = backup.read_bytes()[:1024] + head.tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(BackupError, match="too large"):
        restore_backup(Endless(start), tmp_path / "data", now=NOW)


def test_an_archive_of_more_files_than_any_backup_has_is_left_soon(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MOST_FILES", 100)
    held, made = read_members(backup), tmp_path / "many.tar"
    for number, fits in ((95, True), (98, False)):
        more = [member(f"workspace/{n:x}") for n in range(number)]
        write_members(made, [*held[:-1], *more])
        with pytest.raises(BackupError, match="not complete" if fits else "at most 100 files"):
            restore(made, tmp_path / "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == [LOCK]


def test_no_more_files_are_backed_up_than_can_be_restored(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MOST_FILES", 3)
    save_backup(tmp_path / "source", tmp_path / "again.tar", now=NOW)
    (tmp_path / "source" / WORKSPACE / "more").touch()
    with pytest.raises(BackupError, match="at most 3 files"):
        save_backup(tmp_path / "source", tmp_path / "more.tar", now=NOW)
    assert not (tmp_path / "more.tar").exists()


def test_what_a_killed_restore_left_is_removed_by_the_next(backup: Path, tmp_path: Path) -> None:
    left = tmp_path / "data" / ".restoring-abc"
    left.mkdir(parents=True)
    (left / "token").write_text("secret")
    restore(backup, tmp_path / "data")
    assert not left.exists()


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_backup_that_was_tampered_with_changes_nothing(
    backup: Path, tmp_path: Path, attack: str
) -> None:
    bad = tmp_path / "bad.tar"
    write_members(bad, ATTACKS[attack](read_members(backup)))
    target = tmp_path / "data"
    target.mkdir()
    (target / "token").write_text("mine")
    with pytest.raises(BackupError):
        restore(bad, target, replace=True)
    assert {path.name for path in target.iterdir()} == {"token", f"{STORE}.lock"}
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_backup_that_was_cut_off_changes_nothing(
    backup: Path, tmp_path: Path, share: float
) -> None:
    data = backup.read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(BackupError):
        restore(tmp_path / "cut.tar", tmp_path / "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == [f"{STORE}.lock"]
