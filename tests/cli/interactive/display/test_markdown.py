"""Markdown in a terminal, whole and as it arrives."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenthost.cli.interactive.display.markdown import (
    LONGEST_OPEN_LINE,
    MarkdownText,
    render,
)
from agenthost.cli.interactive.display.styled_text import StyledLine, text_of
from agenthost.cli.interactive.display.table_layout import MOST_HELD_ROWS

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
| wide 日本 | n |
|---|--:|
| `x` | 1 |
| some *longer* cell | 20 |
```diff
-old
+new
```
a | b
[label](http://example.org) and \\*stars\\*
"""

DELIMITER = "|---|--:|"


def texts(lines: list[StyledLine]) -> list[str]:
    return [text_of(item) for item in lines]


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
        "wide 日本        │  n",
        "─────────────────┼───",
        "x                │  1",
        "some longer cell │ 20",
        "",
        "  -old",
        "  +new",
        "",
        "a | b",
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


PIECES = (
    *("| a | b |", "|--|--|", "| 日本 | `x` |", "|", "---", "a | b", "- item | x", "# head", "> q"),
    *(
        "",
        "text *a*",
        "```",
        "```python",
        "a = '''",
        "'''",
        "```diff",
        "+a",
        "/* x",
        "```c",
        "x" * 90,
    ),
)


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("\n".join),
    st.lists(st.integers(0, 400), max_size=6),
    st.sampled_from([1, 10, 40]),
)
def test_so_is_whatever_else_an_agent_may_write(source: str, cuts: list[int], width: int) -> None:
    text, lines = MarkdownText(), list[StyledLine]()
    for cut in sorted(cuts):
        lines += text.settle(source[:cut], width, whole=False)
        text.rest(source[:cut], width)
    assert [*lines, *text.settle(source, width, whole=True)] == render(source, width)
    assert text.rest(source, width) == []


@given(st.integers(0, len(SAMPLE)))
def test_finished_and_unfinished_lines_together_are_the_text_so_far(cut: int) -> None:
    text = MarkdownText()
    lines = text.settle(SAMPLE[:cut], 30, whole=False) + text.rest(SAMPLE[:cut], 30)
    whole = texts(render(SAMPLE[:cut], 30))
    begin = SAMPLE.index(DELIMITER)
    if begin < cut <= begin + len("|---|"):
        # Nothing is shown of what may become a table's delimiter row.
        whole = texts(render(SAMPLE[:begin], 30))
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


def test_a_table_is_held_back_until_it_ends() -> None:
    text, source = MarkdownText(), "| a | b |\n|--|--|\n"
    for number in range(20):
        source += f"| {number} | x |\n"
        assert text.settle(source, 30, whole=False) == []
    live = texts(text.rest(f"{source}| 20 ", 30))
    assert live[:2] == ["a  │ b", "───┼──"]
    assert [row.split()[0] for row in live[2:]] == [str(number) for number in range(13, 21)]
    printed = texts(text.settle(f"{source}after\n", 30, whole=False))
    assert len(printed) == 2 + 20 + 2
    assert printed[-2:] == ["", "after"]
    assert text.rest(f"{source}after\n", 30) == []


def test_rows_of_an_endless_table_are_fitted_to_those_that_are_printed() -> None:
    text, source = MarkdownText(), "| name | b |\n|--|--|\n" + "| x | y |\n" * MOST_HELD_ROWS
    assert len(text.settle(source, 30, whole=False)) == 2 + MOST_HELD_ROWS
    source += "| longer than before | z |\n"
    assert texts(text.settle(source, 30, whole=False)) == [
        "long │ z",
        "er   │",
        "than │",
        "befo │",
        "re   │",
    ]
    assert text.rest(source, 30) == []


def test_a_line_that_may_be_the_head_of_a_table_waits_for_the_next_only() -> None:
    text = MarkdownText()
    assert text.settle("a | b\n", 30, whole=False) == []
    assert texts(text.rest("a | b\n", 30)) == ["a | b"]
    # What may become the row below the head is not shown as text meanwhile.
    assert texts(text.rest("a | b\n--|", 30)) == ["a | b"]
    assert texts(text.settle("a | b\nc\n", 30, whole=False)) == ["a | b", "c"]


def test_a_long_row_of_a_diff_goes_on_beside_the_column_of_signs() -> None:
    rows = render("```diff\n+echo 12345-rm it\n c\n```", 14)
    assert [text_of(row) for row in rows] == ["  +echo 12345", "   -rm it", "   c"]


def test_code_is_coloured_by_its_language_and_a_diff_by_its_rows() -> None:
    assert render("```py\nreturn 1\n```", 30) == [
        (("", "  "), ("keyword", "return"), ("", " "), ("number", "1"))
    ]
    assert render("```diff\n+a\n-b\n c\n```", 30) == [
        (("", "  "), ("good", "+a")),
        (("", "  "), ("bad", "-b")),
        (("", "  "), ("", " c")),
    ]
    assert render("```\nreturn 1\n```", 30) == [(("", "  "), ("code", "return 1"))]


def test_what_is_drawn_of_unfinished_code_does_not_change_the_lines_behind_it() -> None:
    source = '```python\na = """x\nb = 1\n"""\n'
    text, lines = MarkdownText(), list[StyledLine]()
    for end in range(len(source)):
        lines += text.settle(source[:end], 30, whole=False)
        text.rest(source[:end], 30)
    assert [*lines, *text.settle(source, 30, whole=True)] == render(source, 30)


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


LOADED = """
import sys
from agenthost.cli.interactive.display.markdown import load_libraries
names = {"markdown_it", "pygments"}
print(sorted(names & set(sys.modules)))
load_libraries()
print(sorted(names & set(sys.modules)))
"""


def test_the_libraries_are_loaded_when_they_are_asked_for() -> None:
    command = [sys.executable, "-c", LOADED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["[]", "['markdown_it', 'pygments']"]
