"""The menu below the input line: what could be inserted, and which of it is chosen.

Pure. Rows are clipped to the terminal and never more than ``MOST_ROWS``, so that the menu costs
the conversation above it little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agenthost.cli.format.terminal_text import visible
from agenthost.cli.interactive.display.styled_text import (
    StyledLine,
    clip_line,
    line,
    spread,
    width_of,
)

MOST_ROWS = 6
"""Rows of the menu."""

_WIDEST_LABEL = 40
# Characters of a text that could fit into a row at all.
_MOST_SHOWN = 400


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One thing that could be inserted."""

    # What stands before the cursor once it is taken.
    text: str
    # What its row says, and what is said of it; from anywhere, so it is cleaned when it is shown.
    label: str
    about: str = ""
    # What goes along with the inserted word in a message, as (word, attachment).
    attached: tuple[str, Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Menu:
    """The items for what is typed, one of them chosen."""

    items: tuple[MenuItem, ...]
    # What stood before the cursor when they were found.
    before: str
    index: int = 0

    @property
    def chosen(self) -> MenuItem:
        """The item that Enter takes."""
        return self.items[self.index]

    def moved(self, by: int) -> Menu:
        """Choose another item; the last is followed by the first."""
        return replace(self, index=(self.index + by) % len(self.items))

    def narrowed(self, before: str) -> Menu | None:
        """Return the menu after typing on, as far as its items go; None if nothing is left."""
        left = tuple(item for item in self.items if item.text.startswith(before))
        if not before or not left:
            return None
        kept = left.index(self.chosen) if self.chosen in left else 0
        return Menu(left, before, kept)

    def rows(self, width: int) -> list[StyledLine]:
        """Return its rows, with the chosen one among them."""
        first = max(min(self.index - MOST_ROWS // 2, len(self.items) - MOST_ROWS), 0)
        shown = self.items[first : first + MOST_ROWS]
        labels = [_one_row(item.label) for item in shown]
        column = min(max(map(width_of, labels)), _WIDEST_LABEL, max(width - 4, 1))
        rows = []
        for number, (item, label) in enumerate(zip(shown, labels, strict=True), first):
            chosen = number == self.index
            name = clip_line(line(("chosen" if chosen else "", label)), column)
            gap = " " * max(column - sum(width_of(text) for _, text in name), 0)
            about = ("dim", f"  {_one_row(item.about)}")
            row = line(("key", "› ") if chosen else "  ", *name, gap, about)
            rows.append(clip_line(row, width))
        if len(self.items) > MOST_ROWS:
            place = line(("dim", f"{self.index + 1} of {len(self.items)}"))
            rows[-1] = spread(clip_line(rows[-1], max(width - 14, 1)), place, width)
        return rows


def _one_row(text: str) -> str:
    return visible(" ".join(text[:_MOST_SHOWN].split()))
