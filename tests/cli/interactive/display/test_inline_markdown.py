"""Marks within a line of Markdown, and what a hostile line may cost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from agenthost.cli.interactive.display.inline_markdown import LONGEST_MARKED, inline

HOSTILE = [
    *("`" * 3000 + "a", "`a``b```" * 1000, "![](" * 1000, "[" * 4096, "*a" * 4096, "_a " * 4096),
    *("<" * 4096, "[a](" * 1000, "[x](" + "(" * 3000, "*_" * 2000, "~~a" * 1000, "\\" * 3000),
]
MOST_STEPS = 200
"""Calls for each character that finding marks may take; brackets take the most."""


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
        (r"\*a\*", [("", "*a*")]),
        ("**open", [("", "**open")]),
        ("<b>&amp;</b>", [("", "<b>&amp;</b>")]),
        ("[t](http://x)", [("link", "t"), ("dim", " (http://x)")]),
        ("[**t**](file:///x)", [("link bold", "t"), ("dim", " (file:///x)")]),
        ("<http://x>", [("link", "http://x")]),
        ("![t](x.png)", [("link", "t"), ("dim", " (x.png)")]),
        ("", []),
    ],
)
def test_marks_become_styles(source: str, styled: list[tuple[str, str]]) -> None:
    assert inline(source) == styled


def test_a_style_stays_below_that_of_the_marks() -> None:
    assert inline("a **b**", "dim") == [("dim", "a "), ("dim bold", "b")]


@pytest.mark.parametrize("source", ["<http://x/%1b[2J>", "[a](b&#x202e;c)", "[a](b&#27;c)"])
def test_nothing_that_a_terminal_obeys_is_made_of_a_link(source: str) -> None:
    assert all(text.isprintable() for _, text in inline(source))


@pytest.mark.parametrize("source", HOSTILE, ids=lambda source: source[:4])
def test_no_marks_are_looked_for_in_a_line_that_is_no_prose(source: str) -> None:
    assert inline(source, "dim") == [("dim", source)]


@pytest.mark.parametrize("source", HOSTILE, ids=lambda source: source[:4])
def test_the_marks_of_a_hostile_line_are_found_in_few_steps(source: str) -> None:
    inline("*loads the library*")
    assert calls_of(lambda: inline(source[:LONGEST_MARKED])) <= MOST_STEPS * LONGEST_MARKED


def calls_of(run: Callable[[], object]) -> int:
    """Count the functions that are called."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count
