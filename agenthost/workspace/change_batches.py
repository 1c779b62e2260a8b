"""Gathers changes of files into batches: one change a path, told after a moment of quiet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Literal

from msgspec import Struct

ChangeKind = Literal["added", "updated", "deleted"]

# Seconds without a change after which a batch is told, and after which it is told anyway.
QUIET = 0.05
PATIENCE = 0.25
# Changes told at once, and the seconds until more are: those who listen must get them first.
BATCH = 1000
BETWEEN = 0.005
# Changes that wait at most, whatever the time.
MOST_WAITING = 10_000


class FileChange(Struct, frozen=True):
    """Something that happened to a file or folder below what is watched."""

    # Relative to what is watched; empty for that itself.
    path: str
    kind: ChangeKind


class ChangeBatches:
    """The changes that are still to be told."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_batch: Callable[[Sequence[FileChange]], None],
    ) -> None:
        self._loop = loop
        self._on_batch = on_batch
        self._waiting: dict[str, ChangeKind] = {}
        # When the first and the last of them came, and how many of them it is time to tell.
        self._first = self._last = 0.0
        self._due = 0
        self._timer: asyncio.Handle | None = None

    def add(self, path: str, kind: ChangeKind) -> None:
        """Gather a change with those of the same path before it."""
        merged = merged_kind(self._waiting.get(path), kind)
        if merged is None:
            self._waiting.pop(path, None)
            return
        self._waiting[path] = merged
        self._last = self._loop.time()
        if self._timer is None:
            self._wait()
        if len(self._waiting) > MOST_WAITING:
            # Whatever the time, for they take room.
            self._on_batch(self._oldest())

    def close(self) -> None:
        """Tell nothing any more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._first = self._loop.time()
        self._timer = self._loop.call_later(QUIET, self._look)

    def _look(self) -> None:
        due = min(self._last + QUIET, self._first + PATIENCE)
        if self._loop.time() < due:
            self._timer = self._loop.call_at(due, self._look)
        else:
            self._due = len(self._waiting)
            self._tell_on()

    def _tell_on(self) -> None:
        """Tell what is due, one batch at a time: to tell many takes longer than others can wait."""
        batch = self._oldest()
        self._timer = None
        if self._due:
            self._timer = self._loop.call_later(BETWEEN, self._tell_on)
        elif self._waiting:
            self._wait()
        if batch:
            self._on_batch(batch)

    def _oldest(self) -> list[FileChange]:
        """Take out what has waited longest."""
        paths = list(islice(self._waiting, BATCH))
        batch = [FileChange(path, self._waiting.pop(path)) for path in paths]
        # Some that were due may have come to nothing meanwhile.
        self._due = min(max(0, self._due - len(batch)), len(self._waiting))
        return batch


def merged_kind(before: ChangeKind | None, now: ChangeKind) -> ChangeKind | None:
    """Return what two changes of one path come to; None is nothing."""
    if before == "added":
        return None if now == "deleted" else "added"
    if before == "deleted" and now == "added":
        return "updated"
    return now
