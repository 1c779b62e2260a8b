"""Text made safe for a terminal, coloured, and laid out in columns.

Pure: no terminal, no connection. Whatever comes from an agent, a tool or another person may hold
what a terminal obeys, such as escape sequences; it passes through one of these before it is shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

Style: TypeAlias = Literal["bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan"]

_CODES: Mapping[Style, int] = {
    "bold": 1,
    "dim": 2,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
}

TAB = 4
"""Columns to which a tab goes on, where it cannot stay one."""

# What terminals obey: CSI and OSC sequences, then the other escapes. A string without its end is
# taken to the end of its line.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
)
# Controls other than newline and tab, the marks that reorder what people read, and characters that
# take no room at all. Those that join others to emoji or letters are seen in what they make.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2028\u2029"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


class Ink:
    """Colours text, or leaves it alone where there is no terminal: ``ink("red", "no")``."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, style: Style | None, text: str) -> str:
        """Return the text in a style."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.on and style and text else text


def safe_text(text: str, *, overwrite: bool = False) -> str:
    """Return text without escape sequences, controls and hidden marks; lines and tabs stay.

    With ``overwrite``, what a carriage return let overwrite is left out, as a terminal would show
    it. Not for text that comes in pieces: the result would depend on where it was cut.
    """
    if text.isprintable():
        return text
    text = _ESCAPES.sub("", text)
    if overwrite and "\r" in text:
        rows = (row.rstrip("\r").rpartition("\r")[2] for row in text.split("\n"))
        text = "\n".join(rows)
    return _HIDDEN.sub("", text)


def one_line(text: str) -> str:
    """Return text as a single line that is safe to print."""
    return " ".join(safe_text(text).split())


def visible(text: str) -> str:
    """Return text in which nothing hides: escapes, controls and hidden marks are spelled out.

    For what somebody is asked to approve.
    """
    return _HIDDEN.sub(lambda found: _spelled(found[0]), text).expandtabs(TAB)


def _spelled(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def columns(text: str) -> int:
    """Count the columns that a line takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clip(text: str, width: int | None) -> str:
    """Cut a line to a width with an ellipsis; a width of None means no limit."""
    if width is None or columns(text) <= width:
        return text
    room = max(width - 1, 0)
    kept: list[str] = []
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…" if width > 0 else ""


def table(
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    flexible: int = 0,
    styles: Sequence[Sequence[Style | None]] = (),
    ink: Ink | None = None,
) -> list[str]:
    """Lay out rows in columns; the flexible column is cut until a line fits the width.

    ``styles`` has one style per cell; rows without any are left plain.
    """
    if not rows:
        return []
    widths = [max(columns(row[index]) for row in rows) for index in range(len(rows[0]))]
    if width is not None:
        others = sum(widths) - widths[flexible] + 2 * (len(widths) - 1)
        widths[flexible] = min(widths[flexible], max(width - others, 8))
    return [
        _laid_out(row, widths, styles[number] if number < len(styles) else (), ink or Ink(False))
        for number, row in enumerate(rows)
    ]


def _laid_out(
    row: Sequence[str], widths: Sequence[int], styles: Sequence[Style | None], ink: Ink
) -> str:
    cells: list[str] = []
    for index, (text, width) in enumerate(zip(row, widths, strict=True)):
        shown = clip(text, width)
        padding = "" if index == len(row) - 1 else " " * (width - columns(shown))
        cells.append(ink(styles[index] if index < len(styles) else None, shown) + padding)
    return "  ".join(cells).rstrip()


def text_lines(text: str) -> list[str]:
    """Return the non-empty lines of a text, each safe to print."""
    return [row for row in map(one_line, safe_text(text).split("\n")) if row]
