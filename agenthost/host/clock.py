"""Time, as the host reads it for channels, so that their tests need no clock of the machine's.

Whether a token has expired is asked of the machine's own clock: see ``door``.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """What the host needs to know of time."""

    def now(self) -> str:
        """Return the wall clock as ISO 8601 UTC with milliseconds and ``Z``."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def __init__(self) -> None:
        # The last millisecond that was asked for, and how it is written: a stream asks for each
        # one many times.
        self._millisecond = -1
        self._text = ""

    def now(self) -> str:
        """Return the wall clock as ISO 8601 UTC with milliseconds and ``Z``."""
        millisecond = time.time_ns() // 1_000_000
        if millisecond != self._millisecond:
            moment = datetime.fromtimestamp(millisecond / 1000, UTC)
            self._text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._millisecond = millisecond
        return self._text

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()
