"""Time, as the host reads it: one seam, so that nothing else touches a clock."""

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

    def now(self) -> str:
        """Return the wall clock as ISO 8601 UTC with milliseconds and ``Z``."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()
