"""One data directory taking the place of another, in steps of which none can be lost.

What is restored lies ready in a folder of the data directory, whose name says how far things are:
first what was there is moved aside, then what lies ready is moved in. Whoever finds such a folder,
because a process was killed, goes on where that one ended. Nothing is deleted.

Blocks. What is restored, and whether it is sound, is ``restore``'s matter.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agenthost.host.backup.contents import STORE, BackupError
from agenthost.host.store.contract import StoreBusy
from agenthost.host.store.files import sync_directory
from agenthost.host.store.store_lock import Ownership

log = logging.getLogger(__name__)

LOCK = f"{STORE}.lock"
# Not part of what a backup replaces: the lock that is held meanwhile, what earlier restores moved
# away, and the log, which tells of them.
BEFORE = "before-restore-"
LOGS = "logs"
DRAFT = ".restoring-"
"""Folders that are not ready yet, and worth nothing once their process has ended."""

READY = ".replacing-"
"""A folder that is whole and takes the place of what is there."""

EMPTIED = ".emptied"
"""What the name of such a folder ends with once all that was there is aside."""


@contextlib.contextmanager
def owned(data_dir: Path) -> Iterator[None]:
    """Keep hosts away from the directory, also one that is started meanwhile.

    Raises:
        BackupError: a host uses it.
    """
    try:
        ownership = Ownership(str(data_dir / STORE))
    except StoreBusy as error:
        raise BackupError(f"{error}: stop it first") from error
    try:
        if (data_dir / STORE).exists():
            ownership.take_database()
        yield
    except StoreBusy as error:
        raise BackupError(f"{error}: stop it first") from error
    finally:
        ownership.release()


def occupants(data_dir: Path) -> list[Path]:
    """Return what a backup takes the place of."""
    return [
        path
        for path in data_dir.iterdir()
        if path.name not in (LOCK, LOGS) and not path.name.startswith((BEFORE, DRAFT, READY))
    ]


def replace_with(draft: Path, data_dir: Path, now: float) -> Path | None:
    """Put what a folder holds in place; return where that which was there is now, if it was.

    From the first step on it is decided: what ends here, ``finish_replacement`` finishes.
    """
    moment = datetime.fromtimestamp(int(now), UTC).strftime("%Y%m%dT%H%M%SZ")
    ready = data_dir / f"{READY}{moment}-{draft.name.removeprefix(DRAFT)}"
    draft.rename(ready)
    return _go_on(ready, data_dir)


def finish_replacement(data_dir: Path) -> None:
    """Finish what a restore has begun that was killed, if there is such a thing.

    Raises:
        BackupError: a host or another restore uses the directory, or it cannot be finished.
    """
    if not _unfinished(data_dir):
        return
    try:
        with owned(data_dir):
            go_on(data_dir)
    except OSError as error:
        raise BackupError(f"a restore was cut off and cannot be finished: {error}") from error


def go_on(data_dir: Path) -> None:
    """Do the same in a directory that is owned already."""
    for ready in _unfinished(data_dir):
        before = _go_on(ready, data_dir)
        there = f", and what was there is in {before}" if before else ""
        log.warning("a restore that was cut off is finished now%s", there)


def _unfinished(data_dir: Path) -> list[Path]:
    return sorted(data_dir.glob(f"{READY}*"))


def _go_on(ready: Path, data_dir: Path) -> Path | None:
    before = data_dir / (BEFORE + ready.name.removeprefix(READY).removesuffix(EMPTIED))
    if not ready.name.endswith(EMPTIED):
        sync_directory(str(data_dir))
        # Looked at now: to read the old store's numbers is to make files beside it, and its log
        # beside another store would be that one's damage.
        for path in occupants(data_dir):
            before.mkdir(mode=0o700, exist_ok=True)
            path.rename(before / path.name)
        ready = ready.rename(data_dir / f"{ready.name}{EMPTIED}")
        sync_directory(str(data_dir))
    # The store last: until it is there the directory is one without sessions, not half of one.
    for path in sorted(ready.iterdir(), key=lambda path: path.name == STORE):
        path.rename(data_dir / path.name)
    os.rmdir(ready)
    sync_directory(str(data_dir))
    return before if before.exists() else None
