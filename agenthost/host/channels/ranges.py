"""Checks of text ranges: whether one is well formed, and lies within a text (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.protocol.common import TextRange


def _edges(range: TextRange) -> tuple[tuple[int, int], tuple[int, int]]:
    start, end = range["start"], range["end"]
    return (start["line"], start["character"]), (end["line"], end["character"])


def is_range(range: TextRange) -> bool:
    """Say whether a range begins inside of some text and does not end before it begins."""
    start, end = _edges(range)
    return start <= end and min(*start, *end) >= 0


def line_lengths(text: str) -> Sequence[int]:
    """Return how long each line of a text is, as clients count: in UTF-16 code units."""
    return [len(line.encode("utf-16-le", "surrogatepass")) // 2 for line in text.split("\n")]


def lies_inside(range: TextRange, lines: Sequence[int]) -> bool:
    """Say whether a range lies inside of a text whose lines have these lengths."""
    return is_range(range) and all(
        line < len(lines) and character <= lines[line] for line, character in _edges(range)
    )
