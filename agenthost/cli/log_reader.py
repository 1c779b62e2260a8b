"""Reading a host's log file and the older parts of it, backwards for its end, and as it grows.

Lines come from agents and whoever talks to them, and a killed host may have left half of one: what
is no JSON object is passed over. How a line is shown is ``log_format``'s.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any, TypeAlias

LogLine: TypeAlias = dict[str, Any]

LEVELS = ("debug", "info", "warning", "error", "critical")
"""From what goes on to what goes very wrong."""

LONGEST_LINE = 1024 * 1024
"""Characters of a line that is read at once; the host writes none that is longer."""


def line_filter(level: str | None, session: str | None) -> Callable[[LogLine], bool]:
    """Return a test for lines: of a level or worse, about a session, named by the end of its id."""
    wanted = LEVELS.index(level) if level is not None else 0

    def matches(line: LogLine) -> bool:
        found = line.get("level")
        rank = LEVELS.index(found) if found in LEVELS else len(LEVELS)
        about = line.get("session")
        is_meant = session is None or (isinstance(about, str) and _names(session, about))
        return rank >= wanted and is_meant

    return matches


def _names(text: str, uri: str) -> bool:
    # People copy the beginning of an id, as lists show it, or all of the URI.
    return uri == text or uri.rpartition("/")[2].startswith(text)


def last_lines(
    path: Path, most: int, matches: Callable[[LogLine], bool], newest: Iterable[LogLine]
) -> list[LogLine]:
    """Return the newest lines that match, the oldest of them first; reads no more than it needs.

    ``newest`` is what the file itself holds; older parts of the log lie beside it.
    """
    found = [*filter(matches, newest)]
    for part in _older_parts(path):
        if len(found) >= most:
            break
        try:
            with open(part, encoding="utf-8", errors="replace") as file:
                found = [*filter(matches, _parsed(file)), *found]
        except FileNotFoundError:
            # Rotated away meanwhile.
            continue
    return found[-most:]


def _older_parts(path: Path) -> Iterator[Path]:
    """Yield the older parts of a log, the newest first."""
    for number in count(1):
        part = path.with_name(f"{path.name}.{number}")
        if not part.exists():
            return
        yield part


def _parsed(file: IO[str]) -> Iterator[LogLine]:
    while text := file.readline(LONGEST_LINE):
        line = parse_line(text)
        if line is not None:
            yield line


def parse_line(text: str) -> LogLine | None:
    """Return what a line holds, or None for what is no line of a host's log."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and isinstance(line.get("message"), str) else None


class LogFollower:
    """Reads a log file and what is added to it, also when it is rotated, or made only later."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = self._open()
        # The beginning of a line whose end is not there yet.
        self._begun = ""

    def read_new(self) -> list[LogLine]:
        """Return the whole lines that came since the last call."""
        lines = self._rest()
        if self._is_rotated():
            # Once more: it was written to between the two looks at it.
            lines += self._rest()
            self.close()
            self._file = self._open()
            lines += self._rest()
        return lines

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
        self._file, self._begun = None, ""

    def _open(self) -> IO[str] | None:
        try:
            return open(self._path, encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def _rest(self) -> list[LogLine]:
        if self._file is None:
            return []
        *whole, begun = f"{self._begun}{self._file.read()}".split("\n")
        # A line that has no end is none of the host's, and would be held for ever.
        self._begun = begun if len(begun) <= LONGEST_LINE else ""
        return [line for line in map(parse_line, whole) if line is not None]

    def _is_rotated(self) -> bool:
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return False
        if self._file is None:
            return True
        then = os.fstat(self._file.fileno())
        # Some programs that rotate logs copy them and cut off the original.
        is_cut = then.st_size < os.lseek(self._file.fileno(), 0, os.SEEK_CUR)
        return is_cut or (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino)
