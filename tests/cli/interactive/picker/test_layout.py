"""What a row of the session picker shows, and that it fits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agenthost.cli.interactive.display.styled_text import text_of, width_of
from agenthost.cli.interactive.picker.layout import (
    head_line,
    keys_line,
    list_lines,
    session_line,
)
from agenthost.cli.interactive.picker.model import PickerModel, row_of
from tests.cli.interactive.picker.samples import IDLE, WAITING, listed, summary

NOW = datetime(2026, 1, 1, 1, 0, tzinfo=UTC)
TITLES = ["Plain", "日本語のタイトル 🎉 " * 9, "y" * 400, "e\u0301 combined", ""]


@pytest.mark.parametrize("width", [119, 79, 39, 20, 5])
@pytest.mark.parametrize("title", TITLES)
def test_no_row_is_wider_than_the_screen(title: str, width: int) -> None:
    row = row_of(summary("3f2a", title, status=WAITING, folder="/srv/" + "深い" * 40))
    shown = session_line(row, width, NOW, is_selected=True)
    # On less than a status needs, one column is left for a title.
    assert width_of(text_of(shown)) <= max(width, 18)


def test_a_wide_screen_shows_all_and_a_narrow_one_title_and_status() -> None:
    row = row_of(summary("3f2a", "Release", status=WAITING, at=5, folder="/srv/parser"))
    wide, narrow = (text_of(session_line(row, width, NOW)) for width in (119, 39))
    for text in ("? Release", "needs input", "demo", "/srv/parser", "55 min ago", "3f2a"):
        assert text in wide
    assert narrow.split() == ["?", "Release", "needs", "input"]
    # Of those that do nothing, which of several with a title it is.
    idle = session_line(row_of(summary("3f2a", "Release")), 39, NOW)
    assert text_of(idle).split() == ["Release", "3f2a"]


def test_the_selected_row_is_always_among_those_that_are_shown() -> None:
    model = PickerModel()
    model.update(listed(*(summary(f"s{n}", f"Session {n}", at=n) for n in range(100))))
    for _ in range(101):
        lines = [text_of(each) for each in list_lines(model, "+ new", 60, 7, NOW)]
        assert len(lines) == 7
        (selected,) = [each for each in lines if each.startswith("› ")]
        assert (model.row.title if model.row else "+ new") in selected
        model.move(1)


def test_what_is_above_and_below_says_how_many_and_which_keys() -> None:
    model = PickerModel()
    assert "reading" in text_of(head_line(model, 60))
    model.update(listed(summary("a", "One"), summary("b", "Two", status=IDLE)))
    model.search("two")
    assert text_of(head_line(model, 60)) == "agenthost · 1 of 2 sessions"
    model.search("three")
    assert "no session matches" in text_of(list_lines(model, "+ new", 60, 7, NOW)[-1])
    assert "Ctrl-X trash" in text_of(keys_line(119, is_viewer=False))
    assert width_of(text_of(keys_line(39, is_viewer=False))) <= 39
    assert "trash" not in text_of(keys_line(119, is_viewer=True))
