"""Diffs of edited files as styled lines. Pure; what changed is ``diff_rows``' to say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agenthost.cli.format.terminal_text import visible
from agenthost.cli.interactive.display.changed_words import Span, changed_spans
from agenthost.cli.interactive.display.styled_text import Fragment, StyledLine, hard_wrap, line

_STYLES = {"+": "good", "-": "bad", "@": "dim", "\\": "dim"}

LONGEST_PAIRED = 64
"""Changed lines in a row that are compared word by word; longer ones were written anew."""

LEAST_INDENTED = 3
"""The narrowest width in which there is room for a column of signs."""


def styled(rows: Sequence[str], width: int) -> list[StyledLine]:
    """Return the rows of a diff as styled lines of a width, with nothing hidden in them."""
    return [part for row in rows for part in _plain(row, width)]


def beginning(rows: Sequence[str], width: int, most: int) -> list[StyledLine]:
    """Return the beginning of a diff in so many lines; one more says how much is left out."""
    lines: list[StyledLine] = []
    for number, row in enumerate(rows):
        parts = _plain(row, width)
        # To hide a single line would save nothing.
        if len(lines) + len(parts) > most and (len(parts) > 1 or number < len(rows) - 1):
            lines += parts[: most - len(lines)]
            return [*lines, line(("dim", f"… {len(rows) - number:,} more · /show"))]
        lines += parts
    return lines


def whole(rows: Iterable[str], width: int) -> Iterator[StyledLine]:
    """Yield all lines of a diff, with the words marked that differ within a changed line."""
    for run in _runs(rows):
        removed = [row for row in run if row[0] == "-"]
        added = [row for row in run if row[0] == "+"]
        if len(removed) != len(added) or not removed:
            yield from styled(run, width)
            continue
        pairs = [
            changed_spans(visible(old)[1:], visible(new)[1:])
            for old, new in zip(removed, added, strict=True)
        ]
        for row, (span, _) in zip(removed, pairs, strict=True):
            yield from _marked(row, span, width)
        for row, (_, span) in zip(added, pairs, strict=True):
            yield from _marked(row, span, width)


def counts(rows: Iterable[str]) -> tuple[int, int]:
    """Return how many lines a diff adds and removes."""
    signs = [row[:1] for row in rows]
    return signs.count("+"), signs.count("-")


def count_fragments(added: int, removed: int) -> list[Fragment]:
    """Return the counts of a diff as they stand behind a file's name: `` +120 −4``."""
    return [("good", f" +{added:,}"), ("bad", f" −{removed:,}")]


def row_style(row: str) -> str:
    """Return the style of a diff's row."""
    return _STYLES.get(row[:1], "")


def broken(row: StyledLine, width: int) -> list[StyledLine]:
    """Break a row of a diff; what goes on leaves the signs' column free, or could pass for one."""
    first, *rest = hard_wrap(row, width)
    if not rest or width < LEAST_INDENTED:
        return [first, *rest]
    first, *rest = hard_wrap(row, width - 1)
    return [first, *(line((part[0][0], " "), *part) for part in rest)]


def _runs(rows: Iterable[str]) -> Iterator[list[str]]:
    """Yield the rows of a diff: changes together as far as they can be compared, others alone."""
    run: list[str] = []
    for row in rows:
        # Removed lines stand before the added ones that took their place.
        goes_on = row[:1] in ("-", "+") and not (run and row[0] == "-" and run[-1][0] == "+")
        if run and (not goes_on or len(run) >= 2 * LONGEST_PAIRED):
            yield run
            run = []
        if row[:1] in ("-", "+"):
            run.append(row)
        else:
            yield [row]
    if run:
        yield run


def _plain(row: str, width: int) -> list[StyledLine]:
    return broken(line((row_style(row), visible(row))), width)


def _marked(row: str, span: Span | None, width: int) -> list[StyledLine]:
    if span is None:
        return _plain(row, width)
    style, text = row_style(row), visible(row)
    # The sign comes first.
    begin, end = span[0] + 1, span[1] + 1
    fragments = (
        (style, text[:begin]),
        (f"{style} marked", text[begin:end]),
        (style, text[end:]),
    )
    return broken(line(*fragments), width)
