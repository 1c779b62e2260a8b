from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.format.terminal_text import Ink, clip, columns, one_line, safe_text, table

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x1bP1$r\x1b\\",
    "\x9b31m",
    "back\x08space",
    "over\rwritten",
    "\u202egnp.exe",
    "\x00\x7f",
    "\x1b\x1b\x1b[",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_moves_a_cursor_gets_through(text: str) -> None:
    shown = safe_text(f"a {text}\nb")
    assert shown.startswith("a ")
    assert shown.endswith("\nb")
    shown = shown.replace("\n", "")
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e" for c in shown)


def test_a_sequence_that_never_ends_hides_no_more_than_its_line() -> None:
    assert safe_text("a\x1b]0;title\nb") == "a\nb"
    assert safe_text("a\x1b") == "a"


def test_lines_and_tabs_and_every_script_stay() -> None:
    text = "one\n\ttwo\r\nthree: äöü 漢字 \U0001f600 é"
    assert safe_text(text) == text.replace("\r\n", "\n")


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.text(), st.integers(0, 30))
def test_a_clipped_line_fits(text: str, width: int) -> None:
    line = one_line(text)
    shown = clip(line, width)
    assert columns(shown) <= max(width, 0)
    assert clip(line, None) == line
    if columns(line) <= width:
        assert shown == line


def test_wide_characters_count_twice_and_combining_ones_not_at_all() -> None:
    assert columns("漢字") == 4
    assert columns("e\u0301") == 1
    assert clip("漢字漢字", 5) == "漢字…"


def test_ink_colours_only_when_it_is_on() -> None:
    assert Ink(True)("red", "no") == "\x1b[31mno\x1b[0m"
    assert Ink(True)(None, "no") == Ink(False)("red", "no") == "no"
    assert Ink(True)("red", "") == ""


# Tables


def test_a_table_aligns_its_columns() -> None:
    assert table([("A", "B"), ("long", "x")]) == ["A     B", "long  x"]
    assert table([]) == []


def test_the_flexible_column_gives_way_to_the_width() -> None:
    rows = [("id", "a rather long title that goes on", "status")]
    (line,) = table(rows, width=30, flexible=1)
    assert columns(line) <= 30
    assert line == "id  a rather long tit…  status"
    assert table(rows)[0] == "id  a rather long title that goes on  status"


def test_colours_do_not_count_as_columns() -> None:
    (plain_line,) = table([("ab", "c")])
    (line,) = table([("ab", "c")], styles=[("red", "dim")], ink=Ink(True))
    assert safe_text(line) == plain_line
    assert line != plain_line
