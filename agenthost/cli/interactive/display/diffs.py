"""Diffs of edited files as styled lines. Pure.

Whoever approves an edit relies on this, so every difference shows: line endings, a newline at the
end, characters that cannot be seen.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from agenthost.cli.format.terminal_text import visible
from agenthost.cli.interactive.display.styled_text import StyledLine, hard_wrap, line

CONTEXT = 2
"""Lines that are shown around a change."""

MOST_COMPARED = 4_000_000
"""Pairs of lines that are compared; beyond, all of the old lines are shown, then all of the new."""

_STYLES = {"+": "good", "-": "bad", "@": "dim", "\\": "dim"}
_NO_NEWLINE = "\\ no newline at the end"


def changes(before: str | None, after: str | None) -> list[str]:
    """Return the rows of a file's diff, without a heading; None stands for no file."""
    old, new = _rows(before), _rows(after)
    if old and new and all(row.endswith("\r") for row in (*old, *new) if row != _NO_NEWLINE):
        # The same on both sides, so it is no change, and would only be in the way.
        old, new = _without_returns(old), _without_returns(new)
    # What both begin and end with need not be compared, whatever its length.
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    start = max(head - CONTEXT, 0)
    old = old[start : len(old) - max(tail - CONTEXT, 0)]
    new = new[start : len(new) - max(tail - CONTEXT, 0)]
    if len(old) * len(new) > MOST_COMPARED:
        return [
            f"@@ -{start + 1},{len(old)} +{start + 1},{len(new)} @@",
            *(_signed("-", row) for row in old),
            *(_signed("+", row) for row in new),
        ]
    return list(_unified(old, new, start))


def styled(rows: Sequence[str], width: int) -> list[StyledLine]:
    """Return the rows of a diff as styled lines of a width."""
    return [
        part
        for row in rows
        for part in hard_wrap(line((_STYLES.get(row[:1], ""), visible(row))), width)
    ]


def _unified(old: list[str], new: list[str], start: int) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, old, new)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2], start)} +{_span(first[3], last[4], start)} @@"
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from (f" {row}" for row in old[old_from:old_to])
                continue
            yield from (_signed("-", row) for row in old[old_from:old_to])
            yield from (_signed("+", row) for row in new[new_from:new_to])


def _signed(sign: str, row: str) -> str:
    return row if row == _NO_NEWLINE else f"{sign}{row}"


def _span(begin: int, end: int, start: int) -> str:
    count = end - begin
    first = start + begin + (1 if count else 0)
    return f"{first}" if count == 1 else f"{first},{count}"


def _rows(text: str | None) -> list[str]:
    if not text:
        return []
    # Only what programs take for the end of a line; a form feed is none.
    rows = text.split("\n")
    if rows[-1] == "":
        return rows[:-1]
    return [*rows, _NO_NEWLINE]


def _without_returns(rows: list[str]) -> list[str]:
    return [row.removesuffix("\r") for row in rows]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for left, right in zip(old, new, strict=False):
        if left != right:
            break
        count += 1
    return count
