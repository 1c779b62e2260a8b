"""A queue from the agents' threads into the host's loop: what they post is done there, in order.

Everything that agents emit, ask for and end with takes this one way, so nothing overtakes anything.
It is taken over in batches, once per tick, and no batch keeps the host from its clients for long.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

log = logging.getLogger(__name__)

_T = TypeVar("_T")

# What is taken over in one tick, of all agents together, and the seconds after which the rest of it
# waits for the next one: in a turn of thousands of parts each action takes a while.
MOST_PER_TICK = 512
LONGEST_TICK = 0.01


class Batches(Protocol):
    """Whoever gathers what a batch decides, and lets it go when the batch ends."""

    def begin_batch(self) -> None:
        """Gather from now on."""
        ...

    def end_batch(self) -> None:
        """Let go what was gathered."""
        ...


class Crossing:
    """A queue into the host's loop that any thread may post to."""

    def __init__(
        self, batches: Batches | None = None, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = now
        # Told where a batch begins and ends.
        self._batches = batches
        # Appending and taking from the left are atomic: no lock is needed, and nobody waits.
        self._posted: deque[tuple[Callable[[Any], None], object]] = deque()
        # Whether the host will look; cleared before it does, so nothing is left lying.
        self._announced = False

    def post(self, function: Callable[[_T], None], argument: _T) -> None:
        """Have the host call a function; a host that is gone does nothing."""
        self._posted.append((function, argument))
        if not self._announced:
            self._announced = True
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._announced = False
        posted = self._posted
        if self._batches is not None:
            self._batches.begin_batch()
        until = self._now() + LONGEST_TICK
        for _ in range(min(len(posted), MOST_PER_TICK)):
            function, argument = posted.popleft()
            try:
                function(argument)
            except Exception:
                log.exception("what an agent asked for failed")
            if self._now() > until:
                break
        if self._batches is not None:
            self._batches.end_batch()
        if posted and not self._announced:
            self._announced = True
            self._loop.call_soon(self._take)
