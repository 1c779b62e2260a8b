"""Lines of a host's log, as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from agenthost.cli.format.terminal_text import Ink, Style, one_line, safe_text

_STYLES: Mapping[str, Style] = {"warning": "yellow", "error": "red", "critical": "red"}
# What a line is about, in the order in which it is told.
_FIELDS = ("agent", "server", "session", "chat", "turn", "client")


def log_lines(line: Mapping[str, Any], ink: Ink, *, traceback: bool = False) -> Iterator[str]:
    """Yield the rows of one line of the log; all of it may be somebody else's words."""
    level = str(line.get("level", "?"))
    logger = str(line.get("logger", "?")).removeprefix("agenthost.")
    first, *rest = safe_text(str(line["message"])).splitlines() or [""]
    head = f"{_moment(line.get('time'))} {ink(_STYLES.get(level), one_line(level).upper())}"
    yield f"{head} {ink('dim', one_line(logger))}: {first}"
    yield from (f"  {row}" for row in rest)
    about = [f"{name} {one_line(str(line[name]))}" for name in _FIELDS if name in line]
    if about:
        yield ink("dim", f"  {' · '.join(about)}")
    error = line.get("error")
    if isinstance(error, dict):
        yield from _error_lines(error, ink, traceback=traceback)


def _error_lines(error: Mapping[str, Any], ink: Ink, *, traceback: bool) -> Iterator[str]:
    what = one_line(f"{error.get('type', 'error')}: {error.get('message', '')}")
    where = one_line(str(error.get("where", "")))
    yield f"  {ink('red', what)}" + (f"  {ink('dim', where)}" if where else "")
    if traceback:
        rows = safe_text(str(error.get("traceback", ""))).splitlines()
        yield from (ink("dim", f"    {row}") for row in rows)


def _moment(text: object) -> str:
    try:
        return datetime.fromisoformat(str(text)).astimezone().strftime("%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return "?"
