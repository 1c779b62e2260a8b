"""What the session picker lists, in which order, and what stays selected."""

from __future__ import annotations

import pytest

from agenthost.cli.interactive.picker.model import MOST_TITLE, PickerModel, row_of
from tests.cli.interactive.picker.samples import (
    ARCHIVED,
    IDLE,
    READ,
    RUNNING,
    WAITING,
    listed,
    summary,
)

SESSIONS = listed(
    summary("old", "Read long ago", at=1),
    summary("new", "Read just now", at=9),
    summary("unread", "Something new", status=IDLE, at=2),
    summary("busy", "At work", status=RUNNING | READ, at=3),
    summary("asks", "Release the parser", status=WAITING | READ, at=4, folder="/srv/parser"),
    summary("away", "Put away", status=IDLE | READ | ARCHIVED, at=8),
)


def ids(model: PickerModel) -> list[str]:
    return [row.id for row in model.rows]


def selected(model: PickerModel) -> str | None:
    return None if model.row is None else model.row.id


def picker(query: str = "", current: str | None = None) -> PickerModel:
    model = PickerModel(query, current=current)
    model.update(SESSIONS)
    return model


def test_what_waits_comes_first_then_what_works_what_is_new_and_the_rest() -> None:
    assert ids(picker()) == ["asks", "busy", "unread", "new", "old"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("PARSER", ["asks"]),
        ("/srv", ["asks"]),
        ("demo read", ["new", "old", "unread"]),
        ("running", ["busy"]),
        ("ol", ["old"]),
        # Archived ones are found where nothing else is.
        ("put away", ["away"]),
        ("nothing like it", []),
    ],
)
def test_all_words_are_searched_in_everything_that_is_known(query: str, found: list[str]) -> None:
    model = picker()
    model.search(query)
    assert sorted(ids(model)) == sorted(found)


def test_at_first_a_new_session_is_selected_and_the_first_match_of_a_search() -> None:
    model = picker()
    assert (model.index, selected(model)) == (0, None)
    model.search("read")
    assert selected(model) == ids(model)[0]
    model.search("nothing like it")
    assert selected(model) is None
    model.search("")
    assert model.index == 0


def test_a_search_that_was_given_selects_its_first_match_once_the_list_is_there() -> None:
    model = PickerModel("read")
    assert (model.is_known, selected(model)) == (False, None)
    model.update(SESSIONS)
    assert selected(model) == "unread"


def test_the_selection_ends_at_the_ends_of_the_list() -> None:
    model = picker()
    model.move(-1)
    assert model.index == 0
    model.move(100)
    assert model.index == 5
    model.move(-3)
    assert selected(model) == "busy"


def test_what_is_selected_stays_so_wherever_it_moves_to() -> None:
    model = picker()
    model.move(5)
    assert selected(model) == "old"
    model.update({**SESSIONS, **listed(summary("old", "Asks now", status=WAITING, at=10))})
    assert (model.index, selected(model), model.rows[0].title) == (1, "old", "Asks now")


def test_when_what_is_selected_goes_its_place_is_selected() -> None:
    model = picker()
    model.move(2)
    model.update({uri: each for uri, each in SESSIONS.items() if not uri.endswith("/busy")})
    assert selected(model) == "unread"
    model.update({})
    assert (selected(model), ids(model), model.known) == (None, [], 0)


def test_where_one_comes_from_a_session_that_is_selected() -> None:
    assert picker(current="ahp-session:/busy").index == 2


def test_hostile_titles_are_one_harmless_row() -> None:
    row = row_of(summary("x", "\x1b[31mred\x1b]0;evil\x07\r\nnext\u202e" + "y" * 100_000))
    assert row.title.startswith("red nextyyy")
    assert row.title.isprintable()
    assert len(row.title) == MOST_TITLE
    assert row_of(summary("x", " \n ")).title == "(no title)"


def test_of_thousands_of_sessions_only_those_that_changed_are_made_anew() -> None:
    many = listed(*(summary(f"s{n}", f"Session {n}", at=n % 1000) for n in range(5000)))
    model = PickerModel()
    model.update(many)
    before = {row.uri: row for row in model.rows}
    changed = {**many, **listed(summary("s7", "Another title"))}
    model.update(changed)
    anew = [row.id for row in model.rows if before[row.uri] is not row]
    assert anew == ["s7"]
    model.search("session 499")
    assert len(model.rows) == 15
