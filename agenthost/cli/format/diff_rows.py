"""Unified diffs of two texts as rows. Pure.

Whoever approves an edit relies on this, so every difference shows: line endings, a newline at the
end, characters that cannot be seen. The rows are raw; whoever shows them makes them safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agenthost.line_matching import Block, blocks_with_context, matching_blocks

CONTEXT = 2
"""Lines that are shown around a change."""

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
    return [
        row
        for group in blocks_with_context(matching_blocks(old, new), context)
        for row in _hunk(old, new, group)
    ]


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[Block]) -> Iterator[str]:
    first, last = group[0], group[-1]
    yield f"@@ -{_span(first.old_from, last.old_to)} +{_span(first.new_from, last.new_to)} @@"
    for block in group:
        if block.same:
            yield from _signed(" ", old[block.old_from : block.old_to])
            continue
        yield from _signed("-", old[block.old_from : block.old_to])
        yield from _signed("+", new[block.new_from : block.new_to])


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield f"{sign}{line[:-1]}"
        else:
            yield from (f"{sign}{line}", NO_NEWLINE)


def _span(begin: int, end: int) -> str:
    count = end - begin
    first = begin + (1 if count else 0)
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
