"""The clock that host and client read and wait by; tests bring their own and never wait.

Whether a token has expired is asked of the machine's own clock: see ``host.http.admission``.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What host and client need of time."""

    def now(self) -> str:
        """Return the wall clock as ISO 8601 UTC with milliseconds and ``Z``."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def __init__(self) -> None:
        # The last second and millisecond that were asked for, and how they are written: a stream
        # asks for each of them many times.
        self._second = self._millisecond = -1
        self._to_the_second = self._text = ""

    def now(self) -> str:
        """Return the wall clock as ISO 8601 UTC with milliseconds and ``Z``."""
        millisecond = time.time_ns() // 1_000_000
        if millisecond != self._millisecond:
            second, rest = divmod(millisecond, 1000)
            if second != self._second:
                moment = datetime.fromtimestamp(second, UTC)
                self._to_the_second = moment.strftime("%Y-%m-%dT%H:%M:%S")
                self._second = second
            self._text = f"{self._to_the_second}.{rest:03}Z"
            self._millisecond = millisecond
        return self._text

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
