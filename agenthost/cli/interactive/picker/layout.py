"""The lines of the session picker: one row for a session, and what fits in it.

Pure. Wide terminals show everything that is known of a session, narrow ones its title and status.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from agenthost.cli.format.state_format import age
from agenthost.cli.interactive.display.styled_text import (
    StyledLine,
    clip_line,
    line,
    width_of,
)
from agenthost.cli.interactive.picker import texts
from agenthost.cli.interactive.picker.model import PickerModel, SessionRow

# Columns from which on there is room for more than title and status.
_MIDDLE, _WIDE = 60, 100
# The widest that a cell is.
_STATUS, _AGENT, _FOLDER, _AGE, _ID = 20, 10, 20, 10, 8
_NARROW_STATUS = 11

_MARKS = {"needs input": ("ask", "?"), "running": ("good", "●"), "error": ("bad", "✗")}


def list_lines(
    model: PickerModel, new: str, width: int, height: int, now: datetime
) -> Sequence[StyledLine]:
    """Return the rows of the list that fit, with the selected one among them."""
    count = len(model.rows) + 1
    # The selection stands in the middle, except near the ends of the list.
    top = min(max(model.index - height // 2, 0), max(count - height, 0))
    lines = [
        _new_line(new, width, is_selected=model.selected is None)
        if place == 0
        else session_line(
            model.rows[place - 1],
            width,
            now,
            is_selected=place == model.index,
            is_current=model.rows[place - 1].uri == model.current,
        )
        for place in range(top, min(top + height, count))
    ]
    if model.is_known and not model.rows and len(lines) < height:
        why = texts.NO_MATCH if model.query.strip() else texts.ONLY_NEW
        lines.append(line(("dim", f"    {why}")))
    return lines


def session_line(
    row: SessionRow,
    width: int,
    now: datetime,
    *,
    is_selected: bool = False,
    is_current: bool = False,
) -> StyledLine:
    """Return the row of a session."""
    style, mark = _MARKS.get(row.status, ("key", "•") if row.unread else ("", " "))
    cells = _cells(row, width, now)
    room = max(width - 4 - sum(size + 2 for _, _, size in cells), 1)
    looks = "bold" if row.unread or row.status == "needs input" else ""
    looks = "dim" if row.archived else looks
    title = clip_line(line((looks, row.title)), room)
    made = [("key", "› ") if is_selected else ("dim", "* ") if is_current else ("", "  ")]
    made += [(style, f"{mark} "), *title]
    made.append(("", " " * (room - sum(width_of(text) for _, text in title))))
    for cell_style, text, size in cells:
        cell = clip_line(line((cell_style, text)), size)
        made += [("", "  "), *cell, ("", " " * (size - sum(width_of(part) for _, part in cell)))]
    return _selected(line(*made), is_selected=is_selected)


def _cells(row: SessionRow, width: int, now: datetime) -> list[tuple[str, str, int]]:
    """Return style, text and size of what follows a title."""
    status = "archived" if row.archived else row.status
    status = "unread" if status == "idle" and row.unread else status
    style = _MARKS.get(row.status, ("dim", ""))[0]
    if width < _MIDDLE:
        # Where there is nothing to say, the id tells apart those of the same title, as forks are.
        return [(style, row.id if status == "idle" else status, _NARROW_STATUS)]
    changed = ("dim", age(row.changed_at, now), _AGE)
    name = ("dim", row.id, _ID)
    if width < _WIDE:
        return [(style, status, _NARROW_STATUS), changed, name]
    doing = f"{status}: {row.activity}" if row.activity else status
    folder = ("dim", _tail(row.folder, _FOLDER), _FOLDER)
    return [(style, doing, _STATUS), ("", row.agent, _AGENT), folder, changed, name]


def _tail(folder: str, most: int) -> str:
    """Return the end of a path, which says more than its beginning."""
    while width_of(folder) > most:
        folder = f"…{folder[max(len(folder) - most, 1) + 1 :]}"
    return folder


def _new_line(text: str, width: int, *, is_selected: bool) -> StyledLine:
    mark = ("key", "› ") if is_selected else ("", "  ")
    made = clip_line(line(mark, ("good", text)), width)
    rest = width - sum(width_of(piece) for _, piece in made)
    return _selected(line(*made, " " * rest), is_selected=is_selected)


def _selected(made: StyledLine, *, is_selected: bool) -> StyledLine:
    # Turned round as a whole, which every theme shows, also without colours.
    return (
        tuple((f"{style} selected".strip(), text) for style, text in made) if is_selected else made
    )


def keys_line(width: int, *, is_viewer: bool) -> StyledLine:
    """Return what the keys do, in as many words as fit."""
    told = texts.VIEWER_KEYS if is_viewer else texts.KEYS
    fitting = next((text for text in told if width_of(text) <= width), told[-1])
    return clip_line(line(("dim", fitting)), width)


def head_line(model: PickerModel, width: int) -> StyledLine:
    """Return what stands above the list."""
    told = texts.counted(len(model.rows), model.known) if model.is_known else texts.READING
    return clip_line(line(("bold", "agenthost"), ("dim", f" · {told}")), width)
