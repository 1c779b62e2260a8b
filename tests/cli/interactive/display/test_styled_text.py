"""Styled text: cleaning, measuring, breaking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.format.terminal_text import visible
from agenthost.cli.interactive.display.styled_text import (
    clean,
    clip_line,
    cut_row,
    hard_wrap,
    line,
    spread,
    text_of,
    width_of,
    wrap,
)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("a\r\nb", "a\nb"),
        ("bell\x07 and \x9b31mC1", "bell and 31mC1"),
        ("abc\u202etxt.exe", "abctxt.exe"),
        ("a\tb", "a   b"),
    ],
)
def test_nothing_that_a_terminal_would_obey_is_left(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(st.text())
def test_cleaned_text_holds_neither_escapes_nor_controls(text: str) -> None:
    cleaned = clean(text)
    assert all(c == "\n" or (ord(c) >= 32 and not 0x7F <= ord(c) < 0xA0) for c in cleaned)


def test_what_is_to_be_approved_shows_what_would_hide() -> None:
    assert visible("rm \u202e x\x1b[8m") == "rm \\u202e x\\x1b[8m"


@given(st.text(alphabet="ab c日", max_size=60), st.integers(2, 20))
def test_wrapped_rows_fit_and_hold_every_word(text: str, width: int) -> None:
    rows = wrap(line(("bold", text)), width)
    assert all(width_of(text_of(row)) <= width for row in rows)
    assert "".join("".join(text_of(row) for row in rows).split()) == "".join(text.split())


def test_a_line_breaks_at_spaces_and_keeps_its_styles() -> None:
    rows = wrap(line("one ", ("bold", "two"), " three"), 8)
    assert rows == [(("", "one"), ("", " "), ("bold", "two")), (("", "three"),)]


def test_a_word_that_fits_nowhere_is_broken() -> None:
    assert [text_of(row) for row in wrap(line("a abcdefgh"), 4)] == ["a", "abcd", "efgh"]


@given(st.text(alphabet="ab 日", max_size=40), st.integers(2, 9))
def test_a_hard_wrap_keeps_every_character(text: str, width: int) -> None:
    rows = hard_wrap(line(text), width)
    assert "".join(text_of(row) for row in rows) == text
    assert all(width_of(text_of(row)) <= width for row in rows)


def test_a_line_that_is_too_long_is_cut_with_an_ellipsis() -> None:
    assert text_of(clip_line(line("abc", ("dim", "def")), 5)) == "abcd…"
    assert text_of(clip_line(line("日本語"), 5)) == "日本…"
    assert text_of(clip_line(line("fits"), 4)) == "fits"


def test_two_ends_of_a_row_are_set_apart_and_the_right_one_gives_way() -> None:
    assert text_of(spread(line("left"), line("right"), 12)) == "left   right"
    assert text_of(spread(line("left"), line("much too long"), 12)) == "left  much …"


@given(st.text(alphabet="ab 日", min_size=1, max_size=40), st.integers(2, 9))
def test_cutting_rows_off_a_text_comes_to_its_end(text: str, width: int) -> None:
    while text:
        size = cut_row(text, width)
        assert size > 0
        assert width_of(text[:size].rstrip()) <= width
        text = text[size:]
