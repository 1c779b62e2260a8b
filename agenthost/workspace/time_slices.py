"""Work that would hold up an event loop, done a little at a time between everything else."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

# Seconds before others get their turn, and the seconds of that at least.
SLICE = 0.003
PAUSE = 0.001

# Does a little; False when there was nothing to do.
Job: TypeAlias = Callable[[], bool]


class Slices:
    """Jobs that are taken in turn, in short slices, for as long as one has something to do."""

    def __init__(self, loop: asyncio.AbstractEventLoop, first: Job, *jobs: Job) -> None:
        self._loop = loop
        # Whatever it has to do comes before the others' next step.
        self._first = first
        self._jobs = deque(jobs)
        self._next: asyncio.Handle | None = None

    def begin(self) -> None:
        """Take note that there is something to do."""
        if self._next is None:
            self._next = self._loop.call_soon(self._run)

    def close(self) -> None:
        """Do nothing any more."""
        if self._next is not None:
            self._next.cancel()

    def _run(self) -> None:
        # Under way until the end: what jobs find to do must not begin a second one beside it.
        more, began = True, self._loop.time()
        try:
            more = self._is_more_left(began + SLICE)
        finally:
            # Also if one of them failed, for the others' sake.
            self._next = self._loop.call_later(self._pause(began), self._run) if more else None

    def _pause(self, began: float) -> float:
        """Return how long others get their turn: no less than a step took longer than it should."""
        return max(PAUSE, self._loop.time() - began - SLICE)

    def _is_more_left(self, until: float) -> bool:
        while self._step():
            if self._loop.time() >= until:
                return True
        return False

    def _step(self) -> bool:
        if self._first():
            return True
        for _ in range(len(self._jobs)):
            job = self._jobs[0]
            self._jobs.rotate(-1)
            if job():
                return True
        return False
