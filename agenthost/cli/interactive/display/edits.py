"""What a tool call changed in files: a heading for each edit, and its diff, short or whole. Pure.

Who knows the contents says the diff: ``EditLines``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from agenthost.cli.format.state_format import directory_text
from agenthost.cli.interactive.display.diffs import count_fragments
from agenthost.cli.interactive.display.styled_text import (
    Fragment,
    StyledLine,
    clean,
    clip_line,
    line,
    width_of,
)

Json = Mapping[str, Any]

MOST_FILES = 8
"""Edits of one call that are shown, each with its heading."""

LEAST_ROWS = 2
"""Rows of a diff below which its heading says as much."""


class EditLines(Protocol):
    """Says what an edit changes, in lines that fit a width; None where that is not known."""

    def __call__(
        self, edit: Json, width: int, most: int | None = None, /
    ) -> Iterable[StyledLine] | None:
        """Return the lines of a diff: its beginning in so many lines, or all of them."""


def unknown_edit(edit: Json, width: int, most: int | None = None, /) -> None:
    """Return None: the content of edits is not known."""


def short_edits(
    edits: Sequence[Json], width: int, edit_lines: EditLines, most: int
) -> list[StyledLine]:
    """Return headings and the beginnings of diffs, which share so many rows."""
    shown = edits[:MOST_FILES]
    lines: list[StyledLine] = []
    for number, edit in enumerate(shown):
        # What short ones leave over goes to those that follow.
        share = max(most // (len(shown) - number), 0)
        rows = list(edit_lines(edit, width, share) or ()) if share >= LEAST_ROWS else []
        lines += [edit_heading(edit, width), *rows]
        most -= len(rows)
    if len(edits) > len(shown):
        lines.append(line(("dim", f"… {len(edits) - len(shown):,} more files · /show")))
    return lines


def whole_edit(edit: Json, width: int, edit_lines: EditLines) -> Iterator[StyledLine]:
    """Yield an edit's heading and its whole diff, if that is known."""
    yield edit_heading(edit, width)
    yield from edit_lines(edit, width, None) or ()


def edit_heading(edit: Json, width: int) -> StyledLine:
    """Return an edit's file and how much of it changed, as the agent says."""
    after, before = edit.get("after"), edit.get("before")
    side = after or before or {}
    verb = "new " if before is None else "delete " if after is None else ""
    counts = _told_counts(edit.get("diff") or {})
    name = clean(directory_text(side.get("uri", "")))
    room = width - len(verb) - sum(len(text) for _, text in counts)
    if width_of(name) > room:
        # Of a long path the end says the most.
        name = f"…{name[max(len(name) - room + 1, 0) :]}"
    return clip_line(line(verb, name, *counts), width)


def _told_counts(diff: Json) -> list[Fragment]:
    added, removed = (diff.get(key) for key in ("added", "removed"))
    if not isinstance(added, int) or not isinstance(removed, int):
        return []
    return count_fragments(added, removed)
