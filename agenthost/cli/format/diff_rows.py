"""Unified diffs of two texts as rows. Pure.

Whoever approves an edit relies on this, so every difference shows: line endings, a newline at the
end, characters that cannot be seen. The rows are raw; whoever shows them makes them safe.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

CONTEXT = 2
"""Lines that are shown around a change."""

MOST_COMPARED = 4_000_000
"""Pairs of lines that are compared; beyond, all of the old lines are shown, then all of the new."""

NO_NEWLINE = "\\ No newline at end of file"
"""The row behind a last line without a newline, in git's words, which other programs know."""


def diff_rows(
    before: str | None,
    after: str | None,
    *,
    context: int = CONTEXT,
    keep_returns: bool = False,
) -> list[str]:
    """Return the rows of a file's diff, without a heading; None stands for no file.

    With ``keep_returns``, carriage returns stay where every line on both sides ends with one; they
    are no change, and are otherwise left out.
    """
    old, new = _lines(before), _lines(after)
    if not keep_returns and old and new and all(map(_has_return, (*old, *new))):
        old, new = _without_returns(old), _without_returns(new)
    # What both begin and end with need not be compared, whatever its length.
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    start = max(head - context, 0)
    old = old[start : len(old) - max(tail - context, 0)]
    new = new[start : len(new) - max(tail - context, 0)]
    if len(old) * len(new) > MOST_COMPARED:
        return [
            f"@@ -{start + 1},{len(old)} +{start + 1},{len(new)} @@",
            *_signed("-", old),
            *_signed("+", new),
        ]
    return list(_unified(old, new, start, context))


def _unified(old: list[str], new: list[str], start: int, context: int) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, old, new)
    for group in matcher.get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2], start)} +{_span(first[3], last[4], start)} @@"
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from _signed(" ", old[old_from:old_to])
                continue
            yield from _signed("-", old[old_from:old_to])
            yield from _signed("+", new[new_from:new_to])


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield f"{sign}{line[:-1]}"
        else:
            yield from (f"{sign}{line}", NO_NEWLINE)


def _span(begin: int, end: int, start: int) -> str:
    count = end - begin
    first = start + begin + (1 if count else 0)
    return f"{first}" if count == 1 else f"{first},{count}"


def _lines(text: str | None) -> list[str]:
    if not text:
        return []
    # Only what programs take for the end of a line; a form feed is none.
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _has_return(line: str) -> bool:
    return line.endswith(("\r\n", "\r"))


def _without_returns(lines: list[str]) -> list[str]:
    return [f"{line[:-2]}\n" if line.endswith("\n") else line[:-1] for line in lines]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for left, right in zip(old, new, strict=False):
        if left != right:
            break
        count += 1
    return count
