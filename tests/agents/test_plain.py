"""Words without the marks of code."""

from __future__ import annotations

import pytest

from agenthost.agents.plain import plain


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
    assert plain(given) == shown


def test_what_is_no_label_is_left_alone() -> None:
    flood = " ".join("`" * length for length in range(1, 2000))
    assert plain(flood) == flood
