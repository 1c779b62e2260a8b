"""Something to wait for across threads: agents run beside the loop that a test runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Flag", "eventually"]

# Seconds that anything here may take before the test is broken rather than slow.
PATIENCE = 60.0


class Flag:
    """What ``asyncio.Event`` is within one loop, for any loop and thread."""

    def __init__(self, *, is_set: bool = False) -> None:
        self._set = is_set
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    def set(self) -> None:
        self._set = True
        for loop, event in list(self._waiting):
            loop.call_soon_threadsafe(event.set)

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    async def wait(self) -> None:
        waiting = (asyncio.get_running_loop(), asyncio.Event())
        self._waiting.add(waiting)
        try:
            if not self._set:
                await waiting[1].wait()
        finally:
            self._waiting.discard(waiting)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something is so in another thread that tells nobody of it."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
