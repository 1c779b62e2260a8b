"""Time limits that are up when a test says so, not when a busy machine has got nowhere by then."""

from __future__ import annotations

import asyncio

import pytest

__all__ = ["TimeLimits"]


class TimeLimits:
    """All time limits of ``asyncio.timeout``, for the length of a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._made: list[tuple[float | None, asyncio.Timeout]] = []
        make = asyncio.timeout

        def timeout(delay: float | None) -> asyncio.Timeout:
            limit = make(delay)
            self._made.append((delay, limit))
            return limit

        monkeypatch.setattr(asyncio, "timeout", timeout)

    def run_out(self, seconds: float) -> None:
        """Let the one limit of so many seconds be up now."""
        (limit,) = [limit for delay, limit in self._made if delay == seconds]
        limit.reschedule(asyncio.get_running_loop().time())
