"""Keeping what models read at a bearable length."""

from __future__ import annotations

from typing import Final

# Characters of one tool result that a model gets: some ten thousand tokens.
MOST_RESULT: Final = 32_000


def clipped(text: str, most: int = MOST_RESULT) -> str:
    """Return a text, or the beginning and the end of a longer one."""
    if len(text) <= most:
        return text
    head, tail = most // 4, most - most // 4
    left_out = len(text) - most
    return f"{text[:head]}\n… ({left_out} characters left out) …\n{text[-tail:]}"
