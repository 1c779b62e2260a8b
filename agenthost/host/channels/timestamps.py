"""Timestamps as clients write them: reading them, and comparing what is written in several ways.

The protocol's times are ISO 8601 texts of whoever made them, with any offset from UTC, so that
comparing them as text tells nothing. Pure.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

# How this host writes them, which text compares as well as time.
_OURS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER = "0001-01-01T00:00:00.000Z"


def read_instant(text: str) -> datetime | None:
    """Return an instant that was written as text; None when it cannot be read."""
    try:
        read = datetime.fromisoformat(text)
        return (read if read.utcoffset() is not None else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def sortable(text: str) -> str:
    """Return an instant as this host writes them; one that cannot be read comes before all."""
    if _OURS.fullmatch(text):
        return text
    read = read_instant(text)
    if read is None:
        return _NEVER
    return read.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds_between(start: str, end: str) -> int:
    """Return how much time passed; none when that cannot be told or runs backwards."""
    began, ended = read_instant(start), read_instant(end)
    if began is None or ended is None:
        return 0
    return max(0, (ended - began) // timedelta(milliseconds=1))


def is_off(text: str, now: str, by: timedelta) -> bool:
    """Say whether an instant lies further than that from now, or cannot be read."""
    read, present = read_instant(text), read_instant(now) or _EPOCH
    return read is None or abs(read - present) > by
