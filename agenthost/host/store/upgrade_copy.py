"""The copy of a store that is kept beside it until its content has been brought up whole."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path

from agenthost.host.store.contract import StoreError
from agenthost.host.store.files import connect_onlooker, size_of, sync_directory

# Of the store's size: what its copy takes, and what changing it in place may take besides.
ROOM_NEEDED = 1.2
MEGABYTE = 1_000_000


def copy_path(path: str, version: str) -> str:
    """Return where the copy is kept from before a store was brought up to a version."""
    return f"{path}.before-{version}"


def make_copy(path: str, version: str) -> None:
    """Copy a store, whole and on the disk, before it is brought up to a version.

    Raises:
        StoreError: there is no room for it; nothing was changed.
    """
    target, directory = copy_path(path, version), os.path.dirname(path)
    needed = int((size_of(path) + size_of(f"{path}-wal")) * ROOM_NEEDED) + MEGABYTE
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise StoreError(
            f"{path} must be brought up to protocol {version}, and a copy is kept until that is "
            f"done: this needs {_megabytes(needed)} of free space, and there are "
            f"{_megabytes(free)}. Nothing was changed"
        )
    draft = f"{target}.new"
    _remove(draft)
    try:
        # It holds what the store holds, so nobody else may read it either.
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with (
            contextlib.closing(connect_onlooker(path)) as source,
            contextlib.closing(sqlite3.connect(draft)) as copied,
        ):
            source.backup(copied)
        _sync(draft)
    except BaseException:
        _remove(draft)
        raise
    os.rename(draft, target)
    sync_directory(directory)


def copied_schema(path: str, version: str) -> int | None:
    """Return the schema version of a copy; ``None`` if there is none that can be read."""
    target = copy_path(path, version)
    if not os.path.exists(target):
        return None
    try:
        with contextlib.closing(connect_onlooker(target)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.DatabaseError:
        return None


def drop_copy(path: str, version: str) -> None:
    """Remove the copy from before a version, if there is one."""
    _remove(copy_path(path, version))


def _remove(path: str) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _megabytes(count: int) -> str:
    return f"{max(1, round(count / MEGABYTE)):,} MB"
