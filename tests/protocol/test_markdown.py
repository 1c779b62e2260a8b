"""Text that may be a string or markdown."""

from __future__ import annotations

import pytest

from agenthost.protocol.markdown import markdown_of, without_code_marks


def test_text_or_markdown_is_text() -> None:
    assert markdown_of("a") == markdown_of({"markdown": "a"}) == "a"


def test_what_says_nothing_is_no_text() -> None:
    assert markdown_of(None) == markdown_of({}) == ""


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("Run `git status`", "Run git status"),
        ("`a` and `b`", "a and b"),
        ("`` echo `date` ``", "echo `date`"),
        ("5` wide", "5` wide"),
        ("``` and `", "``` and `"),
        ("nothing", "nothing"),
        ("", ""),
    ],
)
def test_the_marks_go_and_the_words_stay(given: str, shown: str) -> None:
    assert without_code_marks(given) == shown


def test_what_is_no_label_is_left_alone() -> None:
    flood = " ".join("`" * length for length in range(1, 2000))
    assert without_code_marks(flood) == flood
