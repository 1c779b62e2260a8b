"""Finds paths by some of their letters, fast among 100,000 of them and without stopping others.

Paths are searched some thousand at a time by one regular expression that never backtracks, so
that other threads get their turn in between.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence

# Paths in one step: some milliseconds in which nothing else in the process runs.
_STEP = 2000
LONGEST_QUERY = 200


class FuzzyPaths:
    """Paths to be found by letters that they contain in that order, whatever their case."""

    def __init__(self, paths: Iterable[str]) -> None:
        # One path a line, so none with a line break of its own.
        self.paths: Sequence[str] = [path for path in paths if "\n" not in path]
        self._steps = [
            "\n".join(self.paths[start : start + _STEP]).lower()
            for start in range(0, len(self.paths), _STEP)
        ]

    def search(self, query: str, most: int) -> list[str]:
        """Return the best paths first: those whose name starts with the query, then contains it."""
        wanted = query.lower()
        if not wanted:
            return heapq.nsmallest(most, self.paths, key=lambda path: (path.count("/"), path))
        if "\n" in wanted or len(wanted) > LONGEST_QUERY:
            return []
        found = (
            (_rank(line, wanted), self.paths[number]) for number, line in self._matching(wanted)
        )
        return [path for _, path in heapq.nsmallest(most, found)]

    def _matching(self, wanted: str) -> Iterator[tuple[int, str]]:
        """Return the numbers of the paths that contain the letters, and the paths in lower case."""
        letters = "".join(f"[^{re.escape(c)}\n]*{re.escape(c)}" for c in wanted)
        expression = re.compile(f"^{letters}[^\n]*$", re.MULTILINE)
        for step, text in enumerate(self._steps):
            number, counted = step * _STEP, 0
            for match in expression.finditer(text):
                number += text.count("\n", counted, match.start())
                counted = match.start()
                yield number, match.group()


def _rank(path: str, wanted: str) -> tuple[bool, bool, bool, int, int]:
    """Return what is smaller for the better of two paths."""
    name = path[path.rfind("/") + 1 :]
    return (
        not name.startswith(wanted),
        wanted not in name,
        wanted not in path,
        path.count("/"),
        len(path),
    )
