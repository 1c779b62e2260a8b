"""How large a terminal can be."""

from __future__ import annotations

SMALLEST, LARGEST = 2, 1000


def clamped(size: int) -> int:
    """Return a number of columns or rows that a terminal can have."""
    return min(max(size, SMALLEST), LARGEST)
