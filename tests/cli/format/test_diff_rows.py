"""Diffs: every difference shows, whatever it is and however long the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.format.diff_rows import NO_NEWLINE, diff_rows
from agenthost.cli.interactive.display.diffs import styled
from agenthost.cli.interactive.display.styled_text import text_of


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ("one\ntwo\n", "one\n2\n", ["@@ -1,2 +1,2 @@", " one", "-two", "+2"]),
        (None, "x\n", ["@@ -0,0 +1 @@", "+x"]),
        ("x\n", None, ["@@ -1 +0,0 @@", "-x"]),
        ("x\n", "x", ["@@ -1 +1 @@", "-x", "+x", "\\ No newline at end of file"]),
        ("a\r\nb", "a\r\nb\r", ["@@ -1,2 +1,2 @@", " a\r", "-b", NO_NEWLINE, "+b\r", NO_NEWLINE]),
        ("x\n", "x\r\n", ["@@ -1 +1 @@", "-x", "+x\r"]),
        ("a\r\nb\r\n", "a\r\nc\r\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]),
        ("a\x0cb\n", "a\nb\n", ["@@ -1 +1,2 @@", "-a\x0cb", "+a", "+b"]),
        ("same\n", "same\n", []),
        (None, "", []),
    ],
)
def test_what_changes_is_shown(before: str | None, after: str | None, rows: list[str]) -> None:
    assert diff_rows(before, after) == rows


def test_only_what_is_near_a_change_is_shown_and_its_place_is_right() -> None:
    old = [f"{n}" for n in range(1, 1001)]
    new = [*old[:499], "changed", *old[500:]]
    rows = diff_rows("\n".join(old) + "\n", "\n".join(new) + "\n")
    assert rows == ["@@ -498,5 +498,5 @@", " 498", " 499", "-500", "+changed", " 501", " 502"]


texts = st.lists(st.sampled_from(["a", "b", "", "c\r"]), max_size=12).map("\n".join)


@given(texts, texts)
def test_a_diff_makes_one_text_of_the_other(before: str, after: str) -> None:
    rows = diff_rows(before, after)
    assert bool(rows) == (before != after)
    added = sum(row.startswith("+") for row in rows)
    removed = sum(row.startswith("-") for row in rows)
    lines = [len(text.split("\n")) - (text.endswith("\n") or not text) for text in (before, after)]
    assert lines[0] - removed + added == lines[1]


def test_of_a_very_long_file_only_what_changed_is_shown() -> None:
    old = [f"{n}\n" for n in range(1, 10_001)]
    new = [f"new {text}" if n % 200 == 0 else text for n, text in enumerate(old)]
    rows = diff_rows("".join(old), "".join(new))
    assert sum(row.startswith("-") for row in rows) == 50
    assert rows[5:12] == [
        *("@@ -199,5 +199,5 @@", " 199", " 200", "-201", "+new 201", " 202", " 203")
    ]


def test_a_file_in_which_everything_changes_is_shown_whole() -> None:
    old = "".join(f"old {n}\n" for n in range(5000))
    new = "".join(f"new {n}\n" for n in range(5000))
    rows = diff_rows(old, new)
    assert rows[0] == "@@ -1,5000 +1,5000 @@"
    assert (rows[1], rows[5001], len(rows)) == ("-old 0", "+new 0", 10_001)


def test_nothing_hides_in_a_diff() -> None:
    rows = diff_rows(None, "x\x1b[8m\u202e\u2060\U000e0041\n")
    assert text_of(styled(rows, 80)[-1]) == "+x\\x1b[8m\\u202e\\u2060\\U000e0041"
