"""A change of a file as people are shown it: how many lines come and go."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

# Comparing more lines takes too long to be worth it; all of them then count as changed.
MOST_COMPARED = 2000


def changed_lines(before: str, after: str) -> dict[str, int]:
    """Count the lines that a change adds and removes."""
    old, new = before.splitlines(), after.splitlines()
    start = _same(old, new)
    old, new = old[start:], new[start:]
    end = _same(old[::-1], new[::-1])
    old, new = old[: len(old) - end], new[: len(new) - end]
    kept = 0
    if len(old) + len(new) <= MOST_COMPARED:
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        kept = sum(block.size for block in blocks)
    return {"added": len(new) - kept, "removed": len(old) - kept}


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(old), len(new)))
