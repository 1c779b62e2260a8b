"""Markdown in a terminal, whole and as it arrives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.interactive.display.markdown import (
    LONGEST_MARKED,
    LONGEST_OPEN_LINE,
    MarkdownText,
    inline,
    render,
)
from agenthost.cli.interactive.display.styled_text import StyledLine, text_of

SAMPLE = """# Title

Some **bold**, *slanted* and `code` text that is longer than a row of the screen.

- first
- second item that needs more than one row of a narrow screen
  1. nested

> a quote

```python
def f():
    return "**not bold**"
```
| a | b |
***
[label](http://example.org) and \\*stars\\*
"""


def texts(lines: list[StyledLine]) -> list[str]:
    return [text_of(item) for item in lines]


@pytest.mark.parametrize(
    ("source", "styled"),
    [
        ("a **b** c", [("", "a "), ("bold", "b"), ("", " c")]),
        ("*a*", [("italic", "a")]),
        ("_a_ snake_case_name", [("italic", "a"), ("", " snake_case_name")]),
        ("`a * b`", [("code", "a * b")]),
        ("``a ` b``", [("code", "a ` b")]),
        ("**a `b`**", [("bold", "a "), ("bold code", "b")]),
        ("~~gone~~", [("strike", "gone")]),
        ("2 * 3 * 4", [("", "2 * 3 * 4")]),
        (r"\*a\*", [("", "*"), ("", "a"), ("", "*")]),
        ("[t](http://x)", [("link", "t"), ("dim", " (http://x)")]),
        ("**open", [("", "**open")]),
    ],
)
def test_marks_within_a_line_become_styles(source: str, styled: list[tuple[str, str]]) -> None:
    assert inline(source) == styled


HOSTILE = ["`" * 3000 + "a", "![](" * 1000, "[" * 4096, "*a" * 4096, "_a " * 4096]


@pytest.mark.parametrize("source", HOSTILE, ids=lambda source: source[:4])
def test_no_marks_are_looked_for_in_a_line_that_is_no_prose(source: str) -> None:
    assert inline(source, "dim") == [("dim", source)]
    marked = source[:LONGEST_MARKED]
    shown = "".join(text for _, text in inline(marked))
    assert shown.count("a") == marked.count("a")


def test_more_ticks_than_anybody_writes_open_no_code() -> None:
    ticks = "`" * 9
    assert inline(f"{ticks}a{ticks}") == [("", f"{ticks}a{ticks}")]
    assert inline("`" * LONGEST_MARKED) == [("", "`" * LONGEST_MARKED)]


@pytest.mark.parametrize(
    ("source", "shown"),
    [("# C#", "C#"), ("## a ##", "a"), ("# a" + " " * 50_000 + "b", "a"), ("#  #", "")],
)
def test_a_heading_ends_before_its_closing_marks(source: str, shown: str) -> None:
    assert texts(render(source, 30))[0] == shown


def test_a_line_that_only_begins_like_a_fence_is_text() -> None:
    assert texts(render("```" + " " * 50_000 + "`x", 30))[0].startswith("```")


def test_a_document_is_shown_block_by_block() -> None:
    assert texts(render(SAMPLE, 30)) == [
        "Title",
        "",
        "Some bold, slanted and code",
        "text that is longer than a row",
        "of the screen.",
        "",
        "• first",
        "• second item that needs more",
        "  than one row of a narrow",
        "  screen",
        "  1. nested",
        "",
        "│ a quote",
        "",
        "  def f():",
        '      return "**not bold**"',
        "",
        "| a | b |",
        "─" * 30,
        "label (http://example.org) and",
        "*stars*",
    ]


@given(st.data())
def test_what_arrives_in_pieces_is_shown_as_if_it_came_whole(data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(SAMPLE)), max_size=8)))
    text = MarkdownText()
    lines: list[StyledLine] = []
    for cut in cuts:
        lines += text.settle(SAMPLE[:cut], 30, whole=False)
    lines += text.settle(SAMPLE, 30, whole=True)
    assert lines == render(SAMPLE, 30)


@given(st.integers(0, len(SAMPLE)))
def test_finished_and_unfinished_lines_together_are_the_text_so_far(cut: int) -> None:
    text = MarkdownText()
    lines = text.settle(SAMPLE[:cut], 30, whole=False) + text.rest(SAMPLE[:cut], 30)
    whole = texts(render(SAMPLE[:cut], 30))
    assert [row for row in texts(lines) if row.strip()] == [row for row in whole if row.strip()]


def test_an_unfinished_line_is_kept_back_until_it_is_finished() -> None:
    text = MarkdownText()
    assert text.settle("a **b", 30, whole=False) == []
    assert texts(text.rest("a **b", 30)) == ["a **b"]
    assert texts(text.settle("a **b** c\nnext", 30, whole=False)) == ["a b c"]
    assert texts(text.rest("a **b** c\nnext", 30)) == ["next"]


def test_of_a_line_without_end_the_beginning_is_not_kept_back() -> None:
    text = MarkdownText()
    source = "word " * (LONGEST_OPEN_LINE // 2)
    early = text.settle(source, 40, whole=False)
    rest = text.rest(source, 40)
    assert early
    assert len(rest) <= LONGEST_OPEN_LINE // 40 + 1
    late = text.settle(source + "end\nnext", 40, whole=True)
    together = " ".join(texts([*early, *late])).split()
    assert together == [*source.split(), "end", "next"]


def test_a_fence_inside_of_a_longer_fence_is_code() -> None:
    assert texts(render("````\n```\nx\n```\n````\nafter", 30)) == [
        "  ```",
        "  x",
        "  ```",
        "",
        "after",
    ]


def test_escape_sequences_in_an_answer_are_not_obeyed() -> None:
    assert texts(render("a\x1b[2Jb", 30)) == ["ab"]
