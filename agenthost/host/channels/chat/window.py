"""Tail windows on long chats: which turns a subscriber was shown, and cursors to older ones.

A cursor names a turn, not a number, so it stays right whatever else happens to the chat. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from agenthost.errors import InvalidParams

# Keeps one page of turns below what common tunnels pass in one frame.
MOST_PAGE_BYTES = 800 * 1024

# What the cursor behind the last turn says; a turn's own begins with "<", whatever its id.
_END = ">"

Turns = Sequence[Mapping[str, Any]]


def cursor_before(turns: Turns, position: int) -> str:
    """Return the cursor that stands for everything before a position."""
    return _encode(f"<{turns[position]['id']}" if position < len(turns) else _END)


def position_of(turns: Turns, cursor: str) -> int:
    """Return the position that a cursor stands for, or raise InvalidParams."""
    text = _decode(cursor)
    if text == _END:
        return len(turns)
    for position, turn in enumerate(turns):
        if text == f"<{turn['id']}":
            return position
    raise InvalidParams("the cursor is not known here", path="cursor")


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str | None:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        # Decoding is lenient; only what was given out, to the letter, is a cursor.
        return text if _encode(text) == cursor else None
    except ValueError:
        return None


def first_shown(turns: Turns, newest: int | None) -> int:
    """Return the position of the first turn to show to someone who asked for the newest ones."""
    return 0 if newest is None else max(0, len(turns) - newest)


def page_start(sizes: Sequence[int], end: int, most: int) -> int:
    """Return where the page that ends before ``end`` starts: one turn at least, ``most`` at most.

    An ``end`` behind the last turn, as a chat that was cut leaves it, is the last turn.
    """
    end = min(end, len(sizes))
    start, size = end, 0
    while start > 0 and end - start < most:
        size += sizes[start - 1]
        if size > MOST_PAGE_BYTES and start < end:
            break
        start -= 1
    return start
