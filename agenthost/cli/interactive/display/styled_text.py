"""Styled text for a terminal: fragments, lines, widths, wrapping.

Pure. A style is a few words, such as ``dim`` or ``bold code``; what they look like is ``screen``'s
to say. Text that comes from agents, tools and other people passes through ``clean`` first, because
a terminal obeys what it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from prompt_toolkit.utils import get_cwidth

from agenthost.cli.format.terminal_text import TAB, safe_text

Fragment: TypeAlias = tuple[str, str]
"""A style and the text that has it."""

StyledLine: TypeAlias = tuple[Fragment, ...]

EMPTY: StyledLine = ()

_SPACES = re.compile(r"(\s+)")


def line(*fragments: str | Fragment) -> StyledLine:
    """Make a line of strings and (style, text) pairs."""
    pieces = ((("", item) if isinstance(item, str) else item) for item in fragments)
    return tuple(piece for piece in pieces if piece[1])


def text_of(styled: StyledLine) -> str:
    """Return a line's text without styles."""
    return "".join(text for _, text in styled)


def clean(text: str) -> str:
    """Return text that is safe on the screen, as a terminal would show it, with spaces for tabs."""
    return safe_text(text, overwrite=True).expandtabs(TAB)


def width_of(text: str) -> int:
    """Return how many columns text takes."""
    return len(text) if text.isascii() else get_cwidth(text)


def clip_line(styled: StyledLine, width: int) -> StyledLine:
    """Cut a line to a width with an ellipsis."""
    if sum(width_of(text) for _, text in styled) <= width:
        return styled
    kept: list[Fragment] = []
    left = max(width - 1, 0)
    for style, text in styled:
        taken = _fitting(text, left)
        kept.append((style, text[:taken]))
        left -= width_of(text[:taken])
        if taken < len(text):
            break
    return line(*kept, ("dim", "…"))


def spread(left: StyledLine, right: StyledLine, width: int) -> StyledLine:
    """Return one line with a left and a right end; the right one is cut first."""
    taken = sum(width_of(text) for _, text in left)
    if taken >= width - 2:
        return clip_line(left, width)
    right = clip_line(right, width - taken - 2)
    gap = width - taken - sum(width_of(text) for _, text in right)
    return line(*left, " " * gap, *right)


def indented(
    lines: Iterable[StyledLine], first: Fragment, rest: Fragment | None = None
) -> list[StyledLine]:
    """Return lines with a prefix before the first and one before all others."""
    other = ("", " " * width_of(first[1])) if rest is None else rest
    return [(first if number == 0 else other, *item) for number, item in enumerate(lines)]


def wrap(styled: StyledLine, width: int) -> list[StyledLine]:
    """Break a line at spaces into rows that fit; a word that fits in no row is broken too."""
    width = max(width, 1)
    if sum(width_of(text) for _, text in styled) <= width:
        return [styled]
    rows: list[StyledLine] = []
    row: list[Fragment] = []
    used = 0
    for word in _words(styled):
        size = sum(width_of(text) for _, text in word)
        if used + size <= width:
            row += word
            used += size
            continue
        if word[0][1].isspace():
            # A break takes the spaces' place; what follows starts a row.
            rows.append(tuple(row))
            row, used = [], 0
            continue
        if used:
            rows.append(_without_end(row))
            row, used = [], 0
        *full, row = _broken(word, width)
        rows += (tuple(item) for item in full)
        used = sum(width_of(text) for _, text in row)
    return [*rows, tuple(row)] if row or not rows else rows


def hard_wrap(styled: StyledLine, width: int) -> list[StyledLine]:
    """Break a line exactly where a row is full, as code and output must be."""
    return [tuple(row) for row in _broken(styled, max(width, 1))] or [EMPTY]


def cut_row(text: str, width: int) -> int:
    """Return how many characters of a text fit in its first row."""
    fits = _fitting(text, max(width, 1))
    if fits >= len(text):
        return len(text)
    space = text.rfind(" ", 0, fits + 1)
    return space + 1 if space > 0 else max(fits, 1)


def _words(styled: StyledLine) -> Iterator[list[Fragment]]:
    """Yield words and the spaces between them; a word may change its style half-way."""
    word: list[Fragment] = []
    for style, text in styled:
        for piece in filter(None, _SPACES.split(text)):
            if word and piece.isspace() != word[0][1].isspace():
                yield word
                word = []
            word.append((style, piece))
    if word:
        yield word


def _broken(word: Sequence[Fragment], width: int) -> list[list[Fragment]]:
    rows: list[list[Fragment]] = [[]]
    left = width
    for style, text in word:
        # By place, not by cutting off: a word may be as long as a file, and has many rows then.
        place = 0
        while place < len(text):
            taken = _fitting(text, left, place)
            if taken:
                piece = text[place : place + taken]
                rows[-1].append((style, piece))
                left -= width_of(piece)
                place += taken
            if place < len(text):
                # Even a character wider than the row has to go somewhere.
                if not rows[-1]:
                    rows[-1].append((style, text[place]))
                    place += 1
                rows.append([])
                left = width
    return rows if rows[-1] else rows[:-1]


def _fitting(text: str, width: int, place: int = 0) -> int:
    """Return how many characters fit, from a place on."""
    if text.isascii():
        return min(len(text) - place, max(width, 0))
    for index in range(place, len(text)):
        width -= get_cwidth(text[index])
        if width < 0:
            return index - place
    return len(text) - place


def _without_end(row: list[Fragment]) -> StyledLine:
    """Drop the spaces at which a row was broken."""
    if row and row[-1][1].isspace():
        return tuple(row[:-1])
    return tuple(row)
