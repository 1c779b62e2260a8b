"""Locks that keep a store to one host, from opening to its end, however that comes about.

Two locks, because each alone can be got around. The one on ``FILE.lock`` keeps a second host away
before it touches anything, and names the owner; but whoever deletes that file takes the lock away
with it. The one on the database itself cannot be deleted without the data. It lies on a byte that
SQLite never locks, reads or writes, so that those two do not meet.

Everything here blocks. Knows no tables.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Callable
from typing import Final

from agenthost.host.store.contract import StoreBusy

# SQLite locks the 512 bytes from 1 GiB on; the rest of that page is never used for anything.
LOCK_BYTE: Final = 0x4000_0000 + 1023
# Bound to the descriptor and not, like SQLite's own, dropped with any other one on the file.
_BY_DESCRIPTOR: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)
# How often, and after how many seconds, a lock is tried again whose owner has ended: a child that
# it had just forked has its descriptors until it runs its program.
_ATTEMPTS: Final = 100
_ATTEMPT_SECONDS: Final = 0.05
# Databases that a store in this process owns, by device and inode. They are not opened a second
# time: closing that descriptor would drop SQLite's locks on them.
_owned: set[tuple[int, int]] = set()


class Ownership:
    """The right to use one store, until it is given up or the process ends."""

    def __init__(self, path: str) -> None:
        """Take the lock beside the database.

        Raises:
            StoreBusy: another process, or another store in this one, owns it.
        """
        self._path = path
        self._database: int | None = None
        self._identity: tuple[int, int] | None = None
        self._lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._take(lambda: fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            owner = self._owner() or "unknown"
            os.close(self._lock)
            raise StoreBusy(f"{path} is in use by another host (process {owner})") from None
        except BaseException:
            os.close(self._lock)
            raise

    def take_database(self) -> None:
        """Take the lock on the database; called as soon as there is one, before SQLite opens it.

        Raises:
            StoreBusy: somebody else owns it, though the file beside it does not say so.
            FileNotFoundError: there is no database.
        """
        info = os.stat(self._path)
        identity = (info.st_dev, info.st_ino)
        if identity in _owned:
            raise self._busy()
        database = os.open(self._path, os.O_RDWR)
        try:
            self._take(lambda: _lock_byte(database))
        except (BlockingIOError, PermissionError):
            os.close(database)
            raise self._busy() from None
        except BaseException:
            os.close(database)
            raise
        _owned.add(identity)
        self._database, self._identity = database, identity
        # Only the owner of both is the one to name.
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Give the store up; SQLite must have closed it."""
        if self._identity is not None:
            _owned.discard(self._identity)
        # Not by closing alone: a child that was just forked has the descriptors too, until it runs
        # its program.
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_UN)
        if self._database is not None:
            with contextlib.suppress(OSError):
                _lock_byte(self._database, fcntl.F_UNLCK)
        for descriptor in (self._database, self._lock):
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    def _take(self, lock: Callable[[], None]) -> None:
        """Take a lock; one whose owner was killed is held on by whom it had just forked."""
        for _ in range(_ATTEMPTS):
            try:
                return lock()
            except (BlockingIOError, PermissionError):
                if not _has_ended(self._owner()):
                    raise
            _pause()
        lock()

    def _owner(self) -> str:
        """Return the process that wrote its number into the lock file last."""
        return os.pread(self._lock, 32, 0).decode(errors="replace")

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"{self._path} is in use by another host; its lock file {self._path}.lock was deleted "
            "or replaced, which does not end that host"
        )


def _pause() -> None:
    time.sleep(_ATTEMPT_SECONDS)


def _has_ended(owner: str) -> bool:
    """Say whether a process is known to be gone."""
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OverflowError, PermissionError):
        return False
    return False


def is_owned_here(path: str) -> bool:
    """Say whether a store in this process owns a database, so that it must not be opened again."""
    info = os.stat(path)
    return (info.st_dev, info.st_ino) in _owned


def _lock_byte(descriptor: int, kind: int = fcntl.F_WRLCK) -> None:
    """Lock the one byte for writing, or unlock it; raise BlockingIOError or PermissionError."""
    if _BY_DESCRIPTOR is None:
        unlocks = kind == fcntl.F_UNLCK
        how = fcntl.LOCK_UN if unlocks else fcntl.LOCK_EX | fcntl.LOCK_NB
        fcntl.lockf(descriptor, how, 1, LOCK_BYTE)
        return
    # struct flock: type, whence, start, length, process.
    request = struct.pack("hhqqi4x", kind, os.SEEK_SET, LOCK_BYTE, 1, 0)
    fcntl.fcntl(descriptor, _BY_DESCRIPTOR, request)
