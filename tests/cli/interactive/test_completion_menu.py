"""The menu below the line."""

from __future__ import annotations

import pytest

from agenthost.cli.interactive.completion_menu import MOST_ROWS, Menu, MenuItem
from agenthost.cli.interactive.display.styled_text import text_of, width_of


def menu(count: int, index: int = 0) -> Menu:
    items = (MenuItem(f"/c{n} ", f"/c{n}", f"about {n}") for n in range(count))
    return Menu(tuple(items), "/c", index)


def shown(made: Menu, width: int) -> list[str]:
    return [text_of(row) for row in made.rows(width)]


def test_the_chosen_one_is_always_among_a_few_rows() -> None:
    for index in range(20):
        rows = shown(menu(20, index), 60)
        assert len(rows) == MOST_ROWS
        assert next(row for row in rows if row.startswith("› ")).startswith(f"› /c{index} ")
        assert rows[-1].endswith(f"{index + 1} of 20")


def test_a_few_items_take_as_many_rows() -> None:
    assert shown(menu(2), 60) == ["› /c0  about 0", "  /c1  about 1"]


def test_moving_goes_round() -> None:
    assert menu(3).moved(-1).index == 2
    assert menu(3, 2).moved(1).index == 0


def test_typing_on_leaves_what_begins_so_and_keeps_the_choice() -> None:
    narrowed = menu(20, 12).narrowed("/c1")
    assert narrowed is not None
    assert narrowed.chosen.label == "/c12"
    assert narrowed.before == "/c1"
    assert menu(20).narrowed("/x") is None
    assert menu(20).narrowed("") is None


@pytest.mark.parametrize("width", [8, 39, 119])
def test_whatever_hosts_offer_stays_in_its_rows(width: int) -> None:
    items = (
        MenuItem("a", "日本語" * 30, "x" * 300),
        MenuItem("b", "\x1b[2Jred\x1b]0;title\x07\nline", "\x1b[31m\r\nmore"),
        MenuItem("c", "", ""),
    )
    for row in Menu(items, "").rows(width):
        assert width_of(text_of(row)) <= width
        assert "\x1b" not in text_of(row)
        assert "\n" not in text_of(row)
