"""Making a backup of a data directory, also while a host writes to it.

The store is copied first, at one moment of its life, and then the files beside it. A host writes a
file before the row of the store that names it, so every file that the copy knows is there to be
copied; what was removed since is left out and counted.

Blocks, and belongs into a process that is not the host's: copying holds the interpreter.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sqlite3
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from agenthost.host.backup.contents import (
    CHECKSUMS,
    MANIFEST,
    SECRETS,
    STORE,
    WORKSPACE,
    BackupError,
    FileSum,
    Manifest,
    check_room,
    checksums_to_json,
)
from agenthost.host.startup import server_info
from agenthost.host.store.contract import StoreError
from agenthost.host.store.files import connect_onlooker, sync_directory, translated
from agenthost.host.store.inspection import inspect_store
from agenthost.host.store.schema import APPLICATION_ID, check_version

IN_MEMORY = 8 * 1024 * 1024
"""Bytes of a file that are held in memory while it is copied; a larger one goes over the disk."""

CHUNK = 1024 * 1024


class BackupReport(Struct):
    """What a backup holds."""

    files: int = 0
    # Bytes of those files.
    size: int = 0
    # Files that were removed or could not be read while the backup was made.
    skipped: int = 0
    # Rows of the store that were damaged already, and are in the backup as they are.
    damages: int = 0


def save_backup(
    data_dir: Path, target: Path, *, now: float, with_secrets: bool = True
) -> BackupReport:
    """Write a backup to a file, which appears whole or not at all and is its owner's alone.

    Raises:
        BackupError: there is nothing to back up, or it cannot be written.
    """
    folder = target.absolute().parent
    with _translated(), _scratch(folder, f".{target.name}.") as scratch:
        draft = scratch / "backup"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            report = _write(data_dir, file, scratch, now, with_secrets)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
        sync_directory(str(folder))
    return report


def write_backup(
    data_dir: Path, target: IO[bytes], *, now: float, with_secrets: bool = True
) -> BackupReport:
    """Write a backup to a stream; raises as ``save_backup`` does, and BrokenPipeError."""
    with _translated(), _scratch(None, "agenthost-backup-") as scratch:
        return _write(data_dir, target, scratch, now, with_secrets)


def _write(
    data_dir: Path, target: IO[bytes], scratch: Path, now: float, with_secrets: bool
) -> BackupReport:
    copy = scratch / STORE
    manifest = _copy_store(data_dir / STORE, copy, now, with_secrets)
    report = BackupReport(damages=inspect_store(copy).damages)
    output: Any = _Output(target)
    # A stream, so that it can go through a pipe as well.
    with (
        tarfile.open(fileobj=output, mode="w|", format=tarfile.PAX_FORMAT) as archive,
        output.dropped_on_failure(),
    ):
        members = _Members(archive, report, int(now))
        members.add_bytes(MANIFEST, manifest.to_json())
        members.add_file(STORE, copy)
        copy.unlink()
        for name, path in _other_files(data_dir, with_secrets):
            members.add_file(name, path)
        members.add_bytes(CHECKSUMS, checksums_to_json(members.sums))
    return report


def _copy_store(source: Path, copy: Path, now: float, with_secrets: bool) -> Manifest:
    if not source.exists():
        raise BackupError(f"there is nothing to back up: {source} does not exist")
    path = os.path.realpath(source)
    # Nothing but SQLite opens the file: a descriptor that is closed would drop SQLite's locks, if
    # the host were in this process after all.
    with translated(path), contextlib.closing(connect_onlooker(path)) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        if application_id != APPLICATION_ID:
            raise StoreError(f"{path} is the database of another program")
        check_version(connection, path)
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = OFF")
            # All pages in one go: that is one moment of the store, and a writer that goes on
            # beside it cannot make the copying begin anew.
            connection.backup(target, pages=-1)
    with translated(path), contextlib.closing(connect_onlooker(str(copy))) as copied:
        schema = check_version(copied, str(copy))
        protocol = _content_version(copied)
    made = datetime.fromtimestamp(int(now), UTC).isoformat()
    return Manifest(made, server_info().get("version"), schema, protocol, with_secrets)


def _content_version(connection: sqlite3.Connection) -> str | None:
    try:
        row = connection.execute("SELECT version FROM content").fetchone()
    except sqlite3.OperationalError:
        # A store from before there was that table.
        return None
    return row[0] if row else None


def _other_files(data_dir: Path, with_secrets: bool) -> Iterator[tuple[str, Path]]:
    if with_secrets:
        for name in SECRETS:
            if (data_dir / name).exists():
                yield name, data_dir / name
    for folder, below, files in os.walk(data_dir / WORKSPACE):
        below.sort()
        for file in sorted(files):
            path = Path(folder, file)
            yield path.relative_to(data_dir).as_posix(), path


class _Output:
    """Where an archive goes, raw or buffered; nowhere once it has failed.

    What is left to be written then is written by the archive when it is closed, and whoever reads a
    pipe may have stopped: to end would be to wait for them.
    """

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._is_dropped = False

    def write(self, data: bytes) -> None:
        """Write all of it."""
        rest = memoryview(data)
        while rest and not self._is_dropped:
            count = self._target.write(rest)
            if count is None:
                raise BlockingIOError("it does not wait to be written to")
            rest = rest[count:]

    @contextlib.contextmanager
    def dropped_on_failure(self) -> Iterator[None]:
        """Write nothing any more if the block fails, or is ended."""
        try:
            yield
        except BaseException:
            self._is_dropped = True
            raise


class _Members:
    """Adds files to an archive, each as it was at one moment."""

    def __init__(self, archive: tarfile.TarFile, report: BackupReport, mtime: int) -> None:
        self._archive, self._report, self._mtime = archive, report, mtime
        # What was added, by name.
        self.sums: dict[str, FileSum] = {}

    def add_bytes(self, name: str, data: bytes) -> None:
        """Add a file that describes the others, and is not counted."""
        self._add(name, io.BytesIO(data), len(data), executable=False)

    def add_file(self, name: str, path: Path) -> None:
        """Add a file of the disk; one that is gone, or is no plain file, is counted as skipped."""
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as held:
            try:
                executable, digest = _read_into(path, held)
            except OSError:
                if name == STORE:
                    raise
                self._report.skipped += 1
                return
            check_room(len(self.sums))
            size = held.tell()
            held.seek(0)
            self._add(name, held, size, executable=executable)
        self.sums[name] = FileSum(size, digest)
        self._report.files += 1
        self._report.size += size

    def _add(self, name: str, data: Any, size: int, *, executable: bool) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mtime = size, self._mtime
        member.mode = 0o700 if executable else 0o600
        self._archive.addfile(member, data)


def _read_into(path: Path, target: IO[bytes]) -> tuple[bool, str]:
    """Copy a file, which may change meanwhile; return whether it is a program, and its SHA-256."""
    digest = hashlib.sha256()
    # Not through a link, and not waiting for whoever would write to a pipe.
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise OSError(f"{path} is no plain file")
        while data := file.read(CHUNK):
            digest.update(data)
            target.write(data)
    return bool(info.st_mode & stat.S_IXUSR), digest.hexdigest()


@contextlib.contextmanager
def _scratch(folder: Path | None, prefix: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=folder, prefix=prefix, suffix=".partial") as made:
        yield Path(made)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except StoreError as error:
        raise BackupError(str(error)) from error
    except (OSError, tarfile.TarError) as error:
        raise BackupError(f"the backup could not be written: {error}") from error
