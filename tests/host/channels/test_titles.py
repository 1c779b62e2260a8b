"""Titles after a first message: one line, and no longer than a list shows."""

from __future__ import annotations

import pytest

from agenthost.host.channels.titles import LONGEST_TITLE, clipped, title_from


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        (" \n\t", ""),
        ("a\n  line", "a line"),
        ("exactly", "exactly"),
        ("too long", "too lo…"),
        ("cut at a space", "cut at…"),
    ],
)
def test_a_text_is_cut_to_one_line(text: str, shown: str) -> None:
    assert clipped(text, 7) == shown


def test_a_title_is_the_beginning_of_the_message() -> None:
    assert title_from("fix the tests") == "fix the tests"
    assert len(title_from("x" * 100)) == LONGEST_TITLE
