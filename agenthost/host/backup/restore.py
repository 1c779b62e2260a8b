"""Putting a backup into a data directory, all of it or nothing.

What is in the backup is checked before anything in the directory is touched: it may have been cut
off, changed, or made by somebody who means harm. What was in the directory is moved into a folder
there and not deleted. Everything happens inside the directory, which may be a mount, or the only
place that this user may write to.

Blocks. Which numbers clients may have seen is ``numbers``' matter, and how one directory takes the
place of another that of ``replacement``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from agenthost.host.backup.contents import (
    CHECKSUMS,
    LARGEST_CHECKSUMS,
    LARGEST_MANIFEST,
    MANIFEST,
    STORE,
    BackupError,
    FileSum,
    Manifest,
    check_room,
    checksums_from_json,
    is_allowed,
)
from agenthost.host.backup.numbers import last_reserved, skip_seen_numbers
from agenthost.host.backup.replacement import DRAFT, go_on, occupants, owned, replace_with
from agenthost.host.store.contract import StoreError
from agenthost.host.store.files import check_file, translated
from agenthost.host.store.inspection import inspect_store
from agenthost.host.store.schema import refuse_newer_schema

CHUNK = 1024 * 1024

LARGEST_HEADER = 64 * 1024
"""Bytes of what is written of a file beside its content: a name, which systems let be 4096."""

_LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class RestoreReport(Struct, frozen=True):
    """What was restored."""

    manifest: Manifest
    files: int
    # Rows of the store that were damaged already when the backup was made.
    damages: int
    # Where that which was there before is now.
    before: Path | None


def restore_backup(
    source: IO[bytes], data_dir: Path, *, now: float, replace: bool = False
) -> RestoreReport:
    """Fill a data directory from a backup.

    Args:
        source: the backup, read once from its beginning.
        data_dir: where to; made if it is not there.
        now: the time, in seconds since 1970.
        replace: whether what is there is moved aside; otherwise there must be nothing.

    Raises:
        BackupError: a host uses the directory, there is something in it, or the backup is
            not sound.
    """
    with _translated():
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with owned(data_dir):
            _remove_drafts(data_dir)
            go_on(data_dir)
            occupied = occupants(data_dir)
            if occupied and not replace:
                raise BackupError(
                    f"{data_dir} is in use already ({occupied[0].name}): name another directory, "
                    "or have what is there moved aside with --replace"
                )
            with _draft(data_dir) as draft:
                manifest, sums = _extract(source, draft)
                damages = _check_store(draft / STORE)
                above = last_reserved(data_dir / STORE) if (data_dir / STORE).exists() else 0
                skip_seen_numbers(draft / STORE, now, above=above)
                before = replace_with(draft, data_dir, now)
    return RestoreReport(manifest, len(sums), damages, before)


# Reading it.


class _Header(tarfile.TarInfo):
    """What stands before a file, if it is no longer than a name needs: it is held in memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _LONG_HEADERS and self.size > LARGEST_HEADER:
            raise BackupError("the backup is damaged: one of its headers is too large")
        made: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return made


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (ValueError, OverflowError) as error:
        # Not all that a header can hold is looked at before it is used.
        raise BackupError("the backup is damaged: one of its headers cannot be read") from error


def _extract(source: IO[bytes], draft: Path) -> tuple[Manifest, dict[str, FileSum]]:
    """Unpack a backup into an empty folder and check that it is what was packed."""
    found: dict[str, FileSum] = {}
    told: dict[str, FileSum] | None = None
    with _readable(), tarfile.open(fileobj=source, mode="r|", tarinfo=_Header) as archive:
        members = iter(archive)
        first = next(members, None)
        if first is None or first.name != MANIFEST:
            raise BackupError("this is no backup of agenthost")
        manifest = Manifest.from_json(_read(archive, first, LARGEST_MANIFEST))
        refuse_newer_schema("the store in the backup", manifest.schema)
        for member in members:
            # The archive remembers each that was read, for whoever would go back.
            archive.members.clear()  # type: ignore[attr-defined]
            if member.name == CHECKSUMS:
                told = checksums_from_json(_read(archive, member, LARGEST_CHECKSUMS))
                break
            check_room(len(found))
            if not is_allowed(member.name) or member.name in found:
                raise BackupError(f"the backup holds what belongs in none: {member.name!r}")
            found[member.name] = _unpack(archive, member, draft / member.name)
    if told is None:
        raise BackupError("the backup is not complete: its end is missing")
    if told != found:
        wrong = sorted(name for name in told.keys() | found if told.get(name) != found.get(name))
        raise BackupError(f"the backup is damaged: {wrong[0]!r} is not what was packed")
    if STORE not in found:
        raise BackupError("the backup holds no store")
    return manifest, found


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo, largest: int) -> bytes:
    if member.size > largest:
        raise BackupError(f"the backup is damaged: {member.name} is too large")
    with _content(archive, member) as content:
        return content.read()


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> FileSum:
    digest = hashlib.sha256()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = 0o700 if member.mode & 0o100 else 0o600
    created = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(created, "wb") as file, _content(archive, member) as content:
        while data := content.read(CHUNK):
            digest.update(data)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return FileSum(target.stat().st_size, digest.hexdigest())


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    """Open a plain file; a sparse one would fill the disk from nothing, a link lead elsewhere."""
    content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    if content is None:
        raise BackupError(
            f"the backup holds what belongs in none: {member.name!r} is no plain file"
        )
    return content


def _check_store(store: Path) -> int:
    """Check that a store can be opened; return how many of its rows are damaged."""
    with translated(str(store)):
        check_file(str(store))
    return inspect_store(store).damages


# Putting it in place.


@contextlib.contextmanager
def _draft(data_dir: Path) -> Iterator[Path]:
    draft = Path(tempfile.mkdtemp(dir=data_dir, prefix=DRAFT))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _remove_drafts(data_dir: Path) -> None:
    """Remove what restores that were killed have left, which may hold tokens."""
    for path in data_dir.glob(f"{DRAFT}*"):
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise BackupError(f"the backup cannot be restored: {error}") from error
    except tarfile.TarError as error:
        raise BackupError(f"this is no backup of agenthost, or a damaged one: {error}") from error
    except OSError as error:
        raise BackupError(f"the backup could not be restored: {error}") from error
