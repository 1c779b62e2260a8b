"""Why a turn failed, as lines: its message, and an agent's traceback if the host tells it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenthost.cli.format.state_format import error_lines
from agenthost.cli.format.terminal_text import visible
from agenthost.cli.interactive.display.markdown import WIDEST
from agenthost.cli.interactive.display.styled_text import (
    StyledLine,
    hard_wrap,
    indented,
    line,
    wrap,
)

Json = Mapping[str, Any]

MOST_STACK_ROWS, LONGEST_STACK = 20, 8_192
"""Rows of an agent's traceback, and characters of it that are looked at."""


def failure_lines(error: Json | None, width: int) -> list[StyledLine]:
    """Return an error as lines; None is one of which nothing is known."""
    room = min(width, WIDEST) - 2
    rows = [row for text in error_lines(error) for row in wrap(line(("bad", text)), room)]
    return [*indented(rows, ("bad", "✗ ")), *_stack_lines((error or {}).get("stack"), width)]


def _stack_lines(stack: object, width: int) -> list[StyledLine]:
    """Return the end of an agent's traceback, which says what was raised, if its host tells it."""
    if not isinstance(stack, str):
        return []
    sources = visible(stack[-LONGEST_STACK:]).rstrip().split("\n")
    rows = [row for source in sources for row in hard_wrap(line(("dim", source)), width - 2)]
    if len(rows) > MOST_STACK_ROWS:
        left = line(("dim", f"… {len(rows) - MOST_STACK_ROWS:,} earlier rows"))
        rows = [left, *rows[-MOST_STACK_ROWS:]]
    return indented(rows, ("", "  "), ("", "  "))
