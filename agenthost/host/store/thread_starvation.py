"""Lets the store's threads run when the event loop starves them of the interpreter lock.

A thread that returns from a blocking call needs the interpreter lock. An event loop without a pause
gives that lock up for microseconds between two callbacks and takes it back before a waiting thread
has woken up, which can go on for seconds: a commit is long done, and nobody hears of it. So when
a worker has reported nothing for a while, the loop's thread sleeps for a moment. On a loop that is
not saturated this costs next to nothing.

Owns when to rest. It does not know what the workers do; ``writer_thread`` and ``reader_threads``
tell it what begins and ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

# A worker that has reported nothing for so long may be starving.
STALL_SECONDS = 0.003

# Long enough for a thread to wake up and finish a commit, short enough to pass unnoticed.
REST_SECONDS = 0.0005


class StarvationGuard:
    """Counts what workers have in hand, and rests the loop's thread when they make no progress."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, rest: Callable[[float], None] = time.sleep
    ) -> None:
        self._loop = loop
        self._rest = rest
        # Jobs that workers have in hand.
        self._waiting = 0
        # Jobs ended so far, and how many of them the last look saw.
        self._ended = 0
        self._seen = 0
        # Whether a look is due.
        self._armed = False

    def begin(self, jobs: int = 1) -> None:
        """Note jobs that were given to a worker."""
        self._waiting += jobs
        if not self._armed:
            self._arm()

    def end(self, jobs: int = 1) -> None:
        """Note jobs that a worker has reported as done."""
        self._waiting -= jobs
        self._ended += jobs

    def _arm(self) -> None:
        self._armed = True
        self._seen = self._ended
        self._loop.call_later(STALL_SECONDS, self._look)

    def _look(self) -> None:
        self._armed = False
        if self._waiting:
            if self._ended == self._seen:
                self._rest(REST_SECONDS)
            self._arm()
