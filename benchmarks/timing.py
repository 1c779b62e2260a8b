"""Timing one operation: the best of several rounds, so that other work counts less."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

ROUNDS = 5


def microseconds(operation: Callable[[], object], *, at_least: float = 0.05) -> float:
    """Return the microseconds that one call takes, from the best of a few rounds."""
    count = 1
    while _run(operation, count) < at_least / ROUNDS:
        count *= 2
    gc.disable()
    try:
        return min(_run(operation, count) for _ in range(ROUNDS)) / count * 1e6
    finally:
        gc.enable()


def _run(operation: Callable[[], object], count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        operation()
    return time.perf_counter() - started
