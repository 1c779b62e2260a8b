"""Markdown for a terminal, rendered line by line while it is streamed.

Pure. A line's looks depend on the lines before it only through ``BlockState``, so that a finished
line never has to be shown again. A table alone is held back until it ends, because any row may
widen its columns. Marks within a line, columns and colours have modules of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from agenthost.cli.interactive.display.code_colours import PLAIN, CodeState, code_state, colour
from agenthost.cli.interactive.display.diffs import broken, row_style
from agenthost.cli.interactive.display.inline_markdown import inline
from agenthost.cli.interactive.display.styled_text import (
    EMPTY,
    StyledLine,
    clean,
    cut_row,
    hard_wrap,
    indented,
    line,
    width_of,
    wrap,
)
from agenthost.cli.interactive.display.table_layout import HeldTable, is_delimiter_of, may_be_head

WIDEST = 100
"""Columns beyond which prose is hard to read."""

LONGEST_OPEN_LINE = 600
"""Characters of an unfinished line that are kept back; models do not write longer paragraphs."""

LONGEST_OPEN_ROW = 4096
"""The same for a row of a table, which is one line however much is in it."""

# Each of these matches in one way only, so that a line of any length is soon read.
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)([^`]*)$")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*)$")
_CLOSING_MARKS = re.compile(r"(?:^|(?<=\s))#+$")
_RULE = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$")
_TASK = re.compile(r"\[([ xX])\]\s+(.*)$")
_QUOTE = re.compile(r"\s{0,3}>\s?(.*)$")
_DIFFS = ("diff", "patch")
_DELIMITER_CHARACTERS = frozenset("|:- ")


@dataclass(frozen=True, slots=True)
class BlockState:
    """Parser state between lines: inside code, list, paragraph."""

    # The marks that opened a block of code and will close it.
    fence: str = ""
    # The language of that code, as the fence says it, and what its colours depend on.
    language: str = ""
    code: CodeState = field(default_factory=CodeState)
    # A table that is not finished, or a line that may turn out to be the head of one.
    table: HeldTable | None = None
    # Whether anything was shown, and whether an empty line is owed before more is.
    begun: bool = False
    gap: bool = False


class MarkdownText:
    """A growing text: finished lines are returned once, the unfinished one at any time."""

    def __init__(self, style: str = "") -> None:
        self._style = style
        self._flow = BlockState()
        # Characters whose lines are finished.
        self._taken = 0
        # Whether the line at hand was so long that its beginning is shown already.
        self._in_long_line = False
        # Whether there are finished lines that were not returned yet.
        self.is_behind = False

    @property
    def begun(self) -> bool:
        """Whether any of its lines are finished."""
        return self._flow.begun

    def settle(
        self, content: str, width: int, *, whole: bool, most: int | None = None
    ) -> list[StyledLine]:
        """Return the lines finished since the last time; with ``whole``, the unfinished one too.

        With ``most``, about so many; ``is_behind`` says whether there are more.
        """
        lines: list[StyledLine] = []
        self.is_behind = False
        while (end := content.find("\n", self._taken)) >= 0:
            if most is not None and len(lines) >= most:
                self.is_behind = True
                return lines
            lines += self._finish(content[self._taken : end], width)
            self._taken = end + 1
        if whole:
            if self._taken < len(content):
                lines += self._finish(content[self._taken :], width)
                self._taken = len(content)
            lines += self._release(width)
        if len(content) - self._taken > self._longest_open(content):
            lines += self._release(width)
            lines += self._spill(content, width)
        return lines

    def rest(self, content: str, width: int) -> list[StyledLine]:
        """Return the unfinished line as it looks now, and the table that it belongs to."""
        source, flow = content[self._taken :], self._flow
        if self._in_long_line:
            flow = replace(flow, gap=False)
        lines: list[StyledLine] = []
        if source.strip() and not _may_become_delimiter(flow, source):
            flow, lines = _advance(flow, source, width, self._in_long_line)
        return self._styled([*lines, *_with_gap(flow, _held_lines(flow, width, newest=True))])

    def _longest_open(self, content: str) -> int:
        table = self._flow.table
        in_row = table is not None and table.is_table and content.startswith("|", self._taken)
        return LONGEST_OPEN_ROW if in_row else LONGEST_OPEN_LINE

    def _release(self, width: int) -> list[StyledLine]:
        """Finish the table that is held back, as far as it is known."""
        self._flow, lines = _release(self._flow, width)
        return self._styled(lines)

    def _finish(self, source: str, width: int) -> list[StyledLine]:
        self._flow, lines = _advance(self._flow, source, width, self._in_long_line)
        self._in_long_line = False
        return self._styled(lines)

    def _spill(self, content: str, width: int) -> list[StyledLine]:
        """Finish the rows of a very long line, all but the newest."""
        lines: list[StyledLine] = []
        while len(content) - self._taken > LONGEST_OPEN_LINE // 2:
            size = cut_row(content[self._taken : self._taken + WIDEST * 2], min(width, WIDEST))
            source = content[self._taken : self._taken + size]
            self._flow, row = _advance(self._flow, source, width, self._in_long_line)
            lines += self._styled(row)
            self._taken += size
            self._in_long_line = True
        return lines

    def _styled(self, lines: list[StyledLine]) -> list[StyledLine]:
        if not self._style:
            return lines
        return [
            tuple((f"{style} {self._style}".strip(), text) for style, text in item)
            for item in lines
        ]


def render(text: str, width: int) -> list[StyledLine]:
    """Return the lines of a complete text."""
    return MarkdownText().settle(text, width, whole=True)


def load_libraries() -> None:
    """Load what Markdown needs, which the first line of an answer would wait for otherwise.

    For a thread: it takes some tens of milliseconds.
    """
    render("*a*\n```python\npass\n```\n| é |\n|---|", 40)


def _advance(
    flow: BlockState, source: str, width: int, goes_on: bool
) -> tuple[BlockState, list[StyledLine]]:
    """Return the lines of one more source line, and the parser state after it.

    With ``goes_on`` the line's beginning was shown before.
    """
    source = clean(source)
    if flow.table is not None:
        return _advance_table(flow, flow.table, source, width, goes_on)
    fence = None if goes_on else _FENCE.match(source)
    if flow.fence:
        if fence and fence[1].startswith(flow.fence) and not fence[2].strip():
            return replace(flow, fence="", gap=True), []
        after, lines = _code(flow, source, width, goes_on)
        return replace(after, begun=True, gap=False), _with_gap(flow, lines)
    if not source.strip():
        return replace(flow, gap=True), []
    if fence:
        language = fence[2].strip().partition(" ")[0].lower()
        opened = replace(flow, fence=fence[1], language=language, code=code_state(language))
        return replace(opened, gap=flow.begun), []
    if not goes_on and not _is_other_block(source) and may_be_head(source):
        return replace(flow, table=HeldTable(source)), []
    lines = _paragraph(source, width) if goes_on else _block(source, width)
    return replace(flow, begun=True, gap=False), _with_gap(flow, lines)


def _advance_table(
    flow: BlockState, table: HeldTable, source: str, width: int, goes_on: bool
) -> tuple[BlockState, list[StyledLine]]:
    """Add a line to the table that is held back, or finish that and go on with the line."""
    if not table.is_table and is_delimiter_of(source, table.head):
        return replace(flow, table=replace(table, delimiter=source)), []
    if table.is_table and "|" in source and not _is_other_block(source):
        longer = replace(table, rows=(*table.rows, source))
        flow = replace(flow, table=longer)
        return _release(flow, width) if longer.layout or longer.is_full else (flow, [])
    flow, lines = _release(flow, width)
    flow, more = _advance(replace(flow, table=None, gap=table.is_table), source, width, goes_on)
    return flow, [*lines, *more]


def _release(flow: BlockState, width: int) -> tuple[BlockState, list[StyledLine]]:
    """Return the lines of what is held back; a table's later rows will be fitted to them."""
    lines = _held_lines(flow, width)
    table = flow.table.printed(width) if flow.table and flow.table.is_table else None
    if not lines:
        return replace(flow, table=table), []
    return replace(flow, table=table, begun=True, gap=False), _with_gap(flow, lines)


def _held_lines(flow: BlockState, width: int, *, newest: bool = False) -> list[StyledLine]:
    table = flow.table
    if table is None:
        return []
    if not table.is_table:
        return _block(table.head, width)
    if table.layout and not table.rows:
        return []
    return table.newest_lines(width) if newest and not table.layout else table.lines(width)


def _may_become_delimiter(flow: BlockState, source: str) -> bool:
    """Return whether an unfinished line may turn the line before it into the head of a table."""
    if flow.table is None or flow.table.is_table:
        return False
    is_one = is_delimiter_of(source, flow.table.head)
    return not is_one and _DELIMITER_CHARACTERS.issuperset(source)


def _is_other_block(source: str) -> bool:
    """Return whether a line begins something that is no table."""
    patterns = (_FENCE, _HEADING, _RULE, _ITEM, _QUOTE)
    return any(pattern.match(source) for pattern in patterns)


def _with_gap(flow: BlockState, lines: list[StyledLine]) -> list[StyledLine]:
    return [EMPTY, *lines] if lines and flow.gap and flow.begun else lines


def _block(source: str, width: int) -> list[StyledLine]:
    """Return the lines of a line outside of code."""
    width = min(width, WIDEST)
    if heading := _HEADING.match(source):
        title = _CLOSING_MARKS.sub("", heading[2].rstrip()).rstrip()
        return wrap(line(*inline(title, "heading")), width)
    if _RULE.match(source):
        return [line(("dim", "─" * min(width, 40)))]
    if item := _ITEM.match(source):
        mark, text = "•" if item[2] in "-*+" else item[2], item[3]
        if task := _TASK.match(text):
            # A step of a plan: done, or not yet.
            mark, text = "○" if task[1] == " " else "✓", task[2]
        first = f"{item[1]}{mark} "
        rows = wrap(line(*inline(text)), width - width_of(first))
        return indented(rows, ("", first))
    if quote := _QUOTE.match(source):
        rows = wrap(line(*inline(quote[1], "quote")), width - 2)
        return indented(rows, ("dim", "│ "), ("dim", "│ "))
    return _paragraph(source, width)


def _paragraph(source: str, width: int) -> list[StyledLine]:
    indent = source[: len(source) - len(source.lstrip())][:8]
    rows = wrap(line(*inline(source.strip())), min(width, WIDEST) - len(indent))
    return indented(rows, ("", indent)) if indent else rows


def _code(
    flow: BlockState, source: str, width: int, goes_on: bool
) -> tuple[BlockState, list[StyledLine]]:
    source = source.rstrip()
    styled, code = line((PLAIN, source)), flow.code
    if flow.language in _DIFFS:
        rows = broken(line((row_style(source), source)), width - 2)
        return flow, indented(rows, ("", "  "))
    if not goes_on:
        styled, code = colour(source, code)
    return replace(flow, code=code), indented(hard_wrap(styled, width - 2), ("", "  "))
