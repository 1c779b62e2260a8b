"""Changed files as a unified diff, as counts, and as ``--json`` objects. Pure.

A diff is written as git writes one, so that people, pagers and ``git apply`` read it. What comes
from a file may hold what a terminal obeys: it is spelled out, in names as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agenthost.cli.format.state_format import directory_text
from agenthost.cli.format.terminal_text import Ink, Style, clip, columns, visible

Json = Mapping[str, Any]
Change: TypeAlias = Literal["added", "deleted", "renamed", "modified"]

_STYLES: Mapping[str, Style] = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}
# Columns that the bar of a file's counts may take.
_LONGEST_BAR = 40
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One changed file, with its diff as far as it can be shown."""

    # Its paths, below the session's directory where they are; equal unless it was renamed.
    path: str
    old_path: str
    change: Change
    # The file's URI, where it is or was.
    uri: str
    # Lines; None where nobody counted them.
    added: int | None = None
    removed: int | None = None
    # The rows of its diff, raw.
    rows: Sequence[str] = field(default=(), repr=False)
    # Why there are no rows although there is a change.
    unshown: str = ""
    is_binary: bool = False
    reviewed: bool = False


def describe_file(file: Json, directories: Sequence[str]) -> FileDiff:
    """Return what a changeset says of a file, without its diff.

    ``directories`` are the URIs of the folders that a session works in.
    """
    edit = file["edit"]
    before, after = edit.get("before"), edit.get("after")
    # A host that names neither side still names the file.
    sides = [side["uri"] for side in (before, after) if side] or [file["id"]]
    old, new = (relative_path(uri, directories) for uri in (sides[0], sides[-1]))
    change: Change = "modified" if old == new else "renamed"
    if after is None and before is not None:
        change = "deleted"
    elif before is None:
        change = "added"
    counts = edit.get("diff") or {}
    return FileDiff(
        path=new,
        old_path=old,
        change=change,
        uri=sides[-1],
        added=counts.get("added"),
        removed=counts.get("removed"),
        reviewed=file.get("reviewed") is True,
    )


def relative_path(uri: str, directories: Sequence[str]) -> str:
    """Return a file's path from the first of the directories that it is in, or its whole path."""
    path = directory_text(uri)
    for directory in map(directory_text, directories):
        below = directory.rstrip("/") + "/"
        if path.startswith(below) and path != below:
            return path.removeprefix(below)
    return path


# A diff.


def diff_lines(file: FileDiff, ink: Ink, *, patch: bool = False) -> Iterator[str]:
    """Yield one file's diff as lines that are safe to print.

    Args:
        file: the file.
        ink: colours them.
        patch: keeps what belongs to a line's end, for a program that applies the diff.
    """
    for row in _heading(file):
        yield ink("bold", row)
    if file.unshown:
        yield ink("yellow", f"  {visible(file.unshown)}")
    for row in file.rows:
        yield ink(_STYLES.get(row[:1]), _safe_row(row, patch))


def is_spelled_out(file: FileDiff) -> bool:
    """Say whether its diff shows what a terminal would obey: what is applied would be that."""
    return any(_safe_row(row, patch=True) != row for row in file.rows)


def _heading(file: FileDiff) -> Iterator[str]:
    old, new = _side("a", file.old_path), _side("b", file.path)
    yield f"diff --git {old} {new}"
    if file.unshown and not file.is_binary:
        # No more, or a program that applies the diff would make an empty file of it.
        return
    match file.change:
        case "added":
            old = "/dev/null"
            yield "new file mode 100644"
        case "deleted":
            new = "/dev/null"
            yield "deleted file mode 100644"
        case "renamed":
            yield f"rename from {quoted_name(file.old_path)}"
            yield f"rename to {quoted_name(file.path)}"
    if file.is_binary:
        yield f"Binary files {old} and {new} differ"
    elif file.rows:
        yield f"--- {old}"
        yield f"+++ {new}"


def _side(letter: str, path: str) -> str:
    return quoted_name(path if path.startswith("/") else f"{letter}/{path}")


def quoted_name(path: str) -> str:
    """Return a path as git writes it: in quotes where it holds what would not be seen."""
    if all(_quoted_character(character) == character for character in path):
        return path
    return f'"{"".join(map(_quoted_character, path))}"'


def _quoted_character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if visible(character) == character and character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def _safe_row(row: str, patch: bool) -> str:
    # A tab and, where nobody looks, a carriage return at the end do no harm and are content.
    end = "\r" if patch and row.endswith("\r") else ""
    body = row.removesuffix(end)
    return "\t".join(map(visible, body.split("\t"))) + end


# Counts.


def stat_lines(files: Sequence[FileDiff], width: int | None, ink: Ink) -> list[str]:
    """Return one line per file with its counts, and a last one with their sum."""
    if not files:
        return []
    names = [_stat_name(file) for file in files]
    counts = [_stat_count(file) for file in files]
    count_width = max(map(columns, counts))
    bar = _LONGEST_BAR if width is None else min(_LONGEST_BAR, max(width // 3, 5))
    widest = max(map(columns, names))
    if width is not None:
        widest = min(widest, max(width - count_width - bar - 6, 12))
    scale = max((file.added or 0) + (file.removed or 0) for file in files)
    lines = []
    for file, name, count in zip(files, names, counts, strict=True):
        shown = _clipped_name(name, widest)
        padding = " " * (widest - columns(shown))
        right = " " * (count_width - columns(count)) + count
        marks = _bar(file, bar, scale, ink)
        lines.append(f" {shown}{padding} | {right}{f' {marks}' if marks else ''}")
    return [*lines, f" {total_line(files)}"]


def total_line(files: Sequence[FileDiff]) -> str:
    """Return the sum of some files' changes in words."""
    added, removed = _sum(files)
    parts = [f"{len(files)} {'file' if len(files) == 1 else 'files'} changed"]
    if added:
        parts.append(f"{added} {'insertion' if added == 1 else 'insertions'}(+)")
    if removed:
        parts.append(f"{removed} {'deletion' if removed == 1 else 'deletions'}(-)")
    return ", ".join(parts)


def _sum(files: Sequence[FileDiff]) -> tuple[int, int]:
    return sum(file.added or 0 for file in files), sum(file.removed or 0 for file in files)


def _stat_name(file: FileDiff) -> str:
    if file.change == "renamed":
        return f"{quoted_name(file.old_path)} => {quoted_name(file.path)}"
    return quoted_name(file.path)


def _clipped_name(name: str, width: int) -> str:
    if columns(name) <= width:
        return name
    # Of a long path the end says the most.
    return "…" + clip(name[::-1], width)[:-1][::-1]


def _stat_count(file: FileDiff) -> str:
    if file.added is None and file.removed is None:
        return "binary" if file.is_binary else "not compared"
    return str((file.added or 0) + (file.removed or 0))


def _bar(file: FileDiff, width: int, scale: int, ink: Ink) -> str:
    added, removed = file.added or 0, file.removed or 0
    if scale > width:
        # What is there is seen, however little of the whole it is.
        added, removed = (-(-count * width // scale) for count in (added, removed))
    return ink("green", "+" * added) + ink("red", "-" * removed)


def change_counts(changes: Json | None) -> str:
    """Return how many lines a session or chat changed, as ``+12 −3``; empty if unknown or none."""
    counts = changes or {}
    marks = (("additions", "+"), ("deletions", "−"))
    return " ".join(f"{mark}{counts[key]}" for key, mark in marks if counts.get(key))


# JSON.


def file_json(file: FileDiff, *, with_diff: bool) -> dict[str, Any]:
    """Return a changed file as a ``--json`` object."""
    shown: dict[str, Any] = {
        "path": file.path,
        "oldPath": file.old_path,
        "uri": file.uri,
        "change": file.change,
        "added": file.added,
        "removed": file.removed,
        "binary": file.is_binary,
        "reviewed": file.reviewed,
    }
    if not with_diff:
        return shown
    diff = "".join(f"{row}\n" for row in file.rows) or None
    return {**shown, "diff": diff, "unshown": file.unshown or None}


def sum_json(files: Sequence[FileDiff]) -> dict[str, int]:
    """Return the sum of some files' changes as a ``--json`` object."""
    added, removed = _sum(files)
    return {"files": len(files), "added": added, "removed": removed}
