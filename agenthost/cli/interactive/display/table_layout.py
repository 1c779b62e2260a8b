"""Tables of Markdown in columns that line up, whatever their characters and the terminal's width.

Pure. A table that fits stands as it is; in a wider one long cells are wrapped; and where columns
would be too narrow to read, every cell gets a line of its own, behind its column's name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal, TypeAlias

from agenthost.cli.interactive.display.inline_markdown import inline
from agenthost.cli.interactive.display.styled_text import (
    EMPTY,
    Fragment,
    StyledLine,
    indented,
    line,
    text_of,
    width_of,
    wrap,
)

LEAST_COLUMNS = 8
"""Columns of a cell below which wrapping makes a ladder of it."""

MOST_HELD_ROWS = 200
MOST_HELD = 16_384
"""Rows and characters of a table that are held back; later rows are fitted into its columns."""

MOST_LIVE_ROWS = 8
"""Rows of an unfinished table that are shown: live lines are drawn again with every frame."""

MOST_CELLS = 32
"""Cells of a row that are laid out; what a table has more of is no table for a terminal."""

_BETWEEN = " │ "
_CROSSING = "─┼─"
# A bar that is not escaped; code does not hide one, in GitHub's Markdown neither.
_BAR = re.compile(r"(?<!\\)\|")
_DELIMITER = re.compile(r":?-+:?$")

Side: TypeAlias = Literal["left", "right", "centre"]


def cells_of(row: str) -> list[str]:
    """Return the cells of a table's source row."""
    row = row.strip().removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(row)]


def may_be_head(source: str) -> bool:
    """Return whether a line may be a table's head row, if the next one is its delimiter row."""
    return "|" in source and len(cells_of(source)) <= MOST_CELLS


def is_delimiter_of(source: str, head: str) -> bool:
    """Return whether a line is the delimiter row below a head row, such as ``|---|:-:|``."""
    if "-" not in source or ("|" not in source and ":" not in source and "|" not in head):
        return False
    cells = cells_of(source)
    return len(cells) == len(cells_of(head)) and all(map(_DELIMITER.match, cells))


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table's columns: names, sides and widths. Rows that come later are fitted into them."""

    head: tuple[StyledLine, ...]
    sides: tuple[Side, ...]
    # Columns of each cell; empty where every cell gets a line of its own.
    widths: tuple[int, ...]
    # Columns of the terminal.
    width: int

    @classmethod
    def of(cls, head: str, delimiter: str, rows: Sequence[str], width: int) -> TableLayout:
        """Measure a table by its source rows."""
        names = tuple(line(*inline(cell, "bold")) for cell in cells_of(head))
        sides = tuple(map(_side, cells_of(delimiter)))
        grid = [names, *(_cells(row, len(names)) for row in rows)]
        wanted = [max(_columns(row[index]) for row in grid) for index in range(len(names))]
        return cls(names, sides, _fitted(wanted, width), width)

    def heading(self) -> list[StyledLine]:
        """Return the lines of the head row and the rule below it."""
        if not self.widths:
            return []
        rule = _CROSSING.join("─" * width for width in self.widths)
        return [*self._aligned(self.head), line(("dim", rule))]

    def row(self, source: str) -> list[StyledLine]:
        """Return the lines of one more row."""
        cells = _cells(source, len(self.head))
        return self._aligned(cells) if self.widths else self._listed(cells)

    def _aligned(self, cells: Sequence[StyledLine]) -> list[StyledLine]:
        columns = [_wrapped(cell, width) for cell, width in zip(cells, self.widths, strict=True)]
        return [self._joined(parts) for parts in zip_longest(*columns, fillvalue=EMPTY)]

    def _joined(self, parts: Sequence[StyledLine]) -> StyledLine:
        fragments: list[Fragment] = []
        for index, part in enumerate(parts):
            before, behind = _padding(self.sides[index], self.widths[index] - _columns(part))
            fragments += [("", " " * before), *part, ("", " " * behind), ("dim", _BETWEEN)]
        return _without_end(fragments[:-1])

    def _listed(self, cells: Sequence[StyledLine]) -> list[StyledLine]:
        lines: list[StyledLine] = [EMPTY]
        for name, cell in zip(self.head, cells, strict=True):
            label = f"{text_of(name)}: " if name else ""
            rows = wrap(line(("bold", label), *cell), self.width - 2)
            lines += indented(rows, ("", ""), ("", "  "))
        return lines


@dataclass(frozen=True, slots=True)
class HeldTable:
    """A table that is being written, held back because later rows may widen its columns."""

    # The source of its head row, and of the row below it once there is one: till then it may be
    # no table at all.
    head: str
    delimiter: str = ""
    rows: tuple[str, ...] = ()
    # Its columns, if it was so long that the beginning is printed already.
    layout: TableLayout | None = None

    @property
    def is_table(self) -> bool:
        """Whether it is known to be a table."""
        return bool(self.delimiter)

    @property
    def is_full(self) -> bool:
        """Whether it is too long to be held back."""
        return len(self.rows) >= MOST_HELD_ROWS or sum(map(len, self.rows)) >= MOST_HELD

    def lines(self, width: int) -> list[StyledLine]:
        """Return the lines of the rows that are held."""
        layout = self._measured(width)
        lines = [] if self.layout else layout.heading()
        for row in self.rows:
            shown = layout.row(row)
            # Rows that are lists stand apart from each other, and from nothing else.
            lines += shown if lines or self.layout or shown[0] else shown[1:]
        return lines

    def newest_lines(self, width: int) -> list[StyledLine]:
        """Return the lines of the head and of the newest rows; all of them would fill a screen."""
        newest = replace(self, rows=self.rows[-MOST_LIVE_ROWS:], layout=None)
        return newest.lines(width)

    def printed(self, width: int) -> HeldTable:
        """Return what is left to hold once its lines are printed: columns for more rows."""
        return replace(self, rows=(), layout=self._measured(width))

    def _measured(self, width: int) -> TableLayout:
        return self.layout or TableLayout.of(self.head, self.delimiter, self.rows, width)


def _cells(row: str, count: int) -> tuple[StyledLine, ...]:
    """Return as many cells of a row as the table has columns."""
    cells = cells_of(row)[:count]
    return tuple(line(*inline(cell)) for cell in [*cells, *[""] * (count - len(cells))])


def _fitted(wanted: Sequence[int], width: int) -> tuple[int, ...]:
    """Return the columns' widths: as wanted, or fair shares, or none where those are too little."""
    room = width - len(_BETWEEN) * (len(wanted) - 1)
    widths = list(wanted)
    # What the narrow columns leave over is shared among the wide ones.
    narrowest_first = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for position, index in enumerate(narrowest_first):
        widths[index] = min(wanted[index], room // (len(wanted) - position))
        room -= widths[index]
        if widths[index] < min(wanted[index], LEAST_COLUMNS):
            return ()
    return tuple(widths)


def _side(cell: str) -> Side:
    if cell.endswith(":"):
        return "centre" if cell.startswith(":") else "right"
    return "left"


def _padding(side: Side, gap: int) -> tuple[int, int]:
    gap = max(gap, 0)
    if side == "right":
        return gap, 0
    if side == "centre":
        return gap // 2, gap - gap // 2
    return 0, gap


def _without_end(fragments: list[Fragment]) -> StyledLine:
    """Return a line without the spaces at its end."""
    while fragments and not fragments[-1][1].strip():
        fragments.pop()
    if fragments:
        fragments[-1] = (fragments[-1][0], fragments[-1][1].rstrip())
    return line(*fragments)


def _wrapped(cell: StyledLine, width: int) -> list[StyledLine]:
    return [cell] if _columns(cell) <= width else wrap(cell, width)


def _columns(cell: StyledLine) -> int:
    """Return how many columns a cell takes; joined emoji take those of one."""
    text = text_of(cell)
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    columns = wcswidth(text)
    return columns if columns >= 0 else width_of(text)
