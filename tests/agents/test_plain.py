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


def test_a_flood_of_marks_is_no_work() -> None:
    assert len(plain("`x " * 20_000)) <= 60_000
    assert plain("`" * 100_000) == "`" * 100_000
