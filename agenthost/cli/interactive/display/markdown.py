"""Markdown for a terminal, rendered line by line while it is streamed.

Pure. A line's looks depend on the lines before it only through ``BlockState``, so that a finished
line never has to be shown again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from agenthost.cli.interactive.display.styled_text import (
    EMPTY,
    Fragment,
    StyledLine,
    clean,
    cut_row,
    hard_wrap,
    indented,
    line,
    width_of,
    wrap,
)

WIDEST = 100
"""Columns beyond which prose is hard to read."""

LONGEST_OPEN_LINE = 600
"""Characters of an unfinished line that are kept back; models do not write longer paragraphs."""

LONGEST_MARKED = 2048
"""Characters of a line within which marks are looked for; longer ones are no prose, and stay plain.

An agent writes the line, so what it takes to find its marks has to have a limit.
"""

# Each of these matches in one way only, so that a line of any length is soon read.
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)([^`]*)$")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*)$")
_CLOSING_MARKS = re.compile(r"(?:^|(?<=\s))#+$")
_RULE = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$")
_TASK = re.compile(r"\[([ xX])\]\s+(.*)$")
_QUOTE = re.compile(r"\s{0,3}>\s?(.*)$")

_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?<!`)(?P<ticks>`{1,8})(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?P<bold>\S(?:.*?\S)?)\*\*"
    r"|\*(?P<italic>\S(?:.*?\S)?)\*"
    r"|(?<!\w)__(?P<bold2>\S(?:.*?\S)?)__(?!\w)"
    r"|(?<!\w)_(?P<italic2>\S(?:.*?\S)?)_(?!\w)"
    r"|~~(?P<strike>\S(?:.*?\S)?)~~"
    r"|!?\[(?P<label>[^\]\n]*)\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)"
)
_EMPHASIS = {
    "bold": "bold",
    "bold2": "bold",
    "italic": "italic",
    "italic2": "italic",
    "strike": "strike",
}


@dataclass(frozen=True, slots=True)
class BlockState:
    """Parser state between lines: inside code, list, paragraph."""

    # The marks that opened a block of code and will close it.
    fence: str = ""
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

    @property
    def begun(self) -> bool:
        """Whether any of its lines are finished."""
        return self._flow.begun

    def settle(self, content: str, width: int, *, whole: bool) -> list[StyledLine]:
        """Return the lines finished since the last time; with ``whole``, the unfinished one too."""
        lines: list[StyledLine] = []
        while (end := content.find("\n", self._taken)) >= 0:
            lines += self._finish(content[self._taken : end], width)
            self._taken = end + 1
        if whole and self._taken < len(content):
            lines += self._finish(content[self._taken :], width)
            self._taken = len(content)
        if len(content) - self._taken > LONGEST_OPEN_LINE:
            lines += self._spill(content, width)
        return lines

    def rest(self, content: str, width: int) -> list[StyledLine]:
        """Return the unfinished line as it looks now."""
        source = content[self._taken :]
        if not source.strip():
            return []
        flow = self._flow
        if self._in_long_line:
            flow = replace(flow, gap=False)
        return self._styled(_advance(flow, source, width, self._in_long_line)[1])

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


def inline(text: str, style: str = "") -> list[Fragment]:
    """Style emphasis, code and links within a line."""
    if len(text) > LONGEST_MARKED:
        return [(style, text)]
    fragments: list[Fragment] = []
    position = 0
    for found in _INLINE.finditer(text):
        fragments.append((style, text[position : found.start()]))
        fragments += _marked(found, style)
        position = found.end()
    fragments.append((style, text[position:]))
    return [fragment for fragment in fragments if fragment[1]]


def _marked(found: re.Match[str], style: str) -> list[Fragment]:
    kind = found.lastgroup or ""
    if kind == "escaped":
        return [(style, found["escaped"])]
    if found["code"] is not None:
        return [(f"{style} code".strip(), found["code"].strip() or found["code"])]
    if found["target"] is not None:
        label, target = found["label"], found["target"]
        shown = inline(label, f"{style} link".strip())
        return shown if label == target else [*shown, (f"{style} dim".strip(), f" ({target})")]
    return inline(found[kind], f"{style} {_EMPHASIS[kind]}".strip())


def _advance(
    flow: BlockState, source: str, width: int, goes_on: bool
) -> tuple[BlockState, list[StyledLine]]:
    """Return the lines of one more source line, and the parser state after it."""
    source = clean(source)
    fence = None if goes_on else _FENCE.match(source)
    if flow.fence:
        if fence and fence[1].startswith(flow.fence) and not fence[2].strip():
            return replace(flow, fence="", gap=True), []
        return replace(flow, begun=True, gap=False), _with_gap(flow, _code(source, width))
    if not source.strip():
        return replace(flow, gap=True), []
    if fence:
        opened = replace(flow, fence=fence[1], gap=flow.begun)
        return opened, []
    lines = _paragraph(source, width) if goes_on else _block(source, width)
    return replace(flow, begun=True, gap=False), _with_gap(flow, lines)


def _with_gap(flow: BlockState, lines: list[StyledLine]) -> list[StyledLine]:
    return [EMPTY, *lines] if flow.gap and flow.begun else lines


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
    if source.lstrip().startswith("|"):
        # A table: its columns line up as they were written.
        return [line(*inline(source))]
    return _paragraph(source, width)


def _paragraph(source: str, width: int) -> list[StyledLine]:
    indent = source[: len(source) - len(source.lstrip())][:8]
    rows = wrap(line(*inline(source.strip())), min(width, WIDEST) - len(indent))
    return indented(rows, ("", indent)) if indent else rows


def _code(source: str, width: int) -> list[StyledLine]:
    rows = hard_wrap(line(("code", source.rstrip())), width - 2)
    return indented(rows, ("", "  "))
