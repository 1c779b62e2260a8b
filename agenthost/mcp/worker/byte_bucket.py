"""A rate of bytes: what comes faster than it waits."""

from __future__ import annotations

from collections.abc import Callable


class ByteBucket:
    """Says how long to wait so that no more than so many bytes pass in a second."""

    def __init__(self, rate: int, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._full = float(rate)
        self._level = self._full
        self._seen = clock()

    def take(self, size: int) -> float:
        """Take ``size`` bytes and return the seconds until they may pass."""
        now = self._clock()
        self._level = min(self._full, self._level + (now - self._seen) * self._rate)
        self._seen = now
        self._level -= size
        return max(0.0, -self._level / self._rate)
