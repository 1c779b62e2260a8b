"""Tables: columns line up by what a terminal shows, at any width."""

from __future__ import annotations

import pytest
from wcwidth import wcswidth

from agenthost.cli.interactive.display.styled_text import text_of
from agenthost.cli.interactive.display.table_layout import (
    HeldTable,
    cells_of,
    is_delimiter_of,
    may_be_head,
)

HEAD, DELIMITER = "| name | what | n |", "|:--|:-:|--:|"
ROWS = (
    "| `code` | plain | 1 |",
    "| 日本語 | **bold** words | 20 |",
    "| 👩‍👩‍👧 | a cell that is longer than the others | 300 |",
    "| short |",
    r"| a \| b | too | many | cells |",
)


def lines(width: int) -> list[str]:
    return [text_of(item) for item in HeldTable(HEAD, DELIMITER, ROWS).lines(width)]


def test_the_cells_of_a_table_stand_below_each_other() -> None:
    assert lines(80) == [
        "name   │                 what                  │    n",
        "───────┼───────────────────────────────────────┼─────",
        "code   │                 plain                 │    1",
        "日本語 │              bold words               │   20",
        "👩‍👩‍👧     │ a cell that is longer than the others │  300",
        "short  │                                       │",
        "a | b  │                  too                  │ many",
    ]


@pytest.mark.parametrize("width", [24, 30, 40, 60, 120])
def test_bars_stand_in_the_same_columns_and_nothing_is_wider_than_the_screen(width: int) -> None:
    bars = {
        tuple(wcswidth(row[:at]) for at, mark in enumerate(row) if mark in "│┼")
        for row in lines(width)
    }
    assert len(bars) == 1
    assert max(map(wcswidth, lines(width))) <= width


def test_a_narrow_column_leaves_its_room_to_the_others() -> None:
    table = HeldTable("| a | b | c | d |", "|-|-|-|-|", ("| 1 | 2 | 3 | several words of text |",))
    assert [text_of(item) for item in table.lines(22)] == [
        "a │ b │ c │ d",
        "──┼───┼───┼───────────",
        "1 │ 2 │ 3 │ several",
        "  │   │   │ words of",
        "  │   │   │ text",
    ]


def test_where_columns_would_be_too_narrow_each_cell_gets_a_line() -> None:
    assert lines(21)[:8] == [
        "name: code",
        "what: plain",
        "n: 1",
        "",
        "name: 日本語",
        "what: bold words",
        "n: 20",
        "",
    ]
    assert max(map(wcswidth, lines(21))) <= 21


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("| a | b |", ["a", "b"]),
        ("a|b", ["a", "b"]),
        (r"| a \| b |", ["a | b"]),
        (r"a | b\|", ["a", "b|"]),
        ("||", [""]),
    ],
)
def test_a_row_is_cut_at_its_bars(row: str, cells: list[str]) -> None:
    assert cells_of(row) == cells


@pytest.mark.parametrize(
    ("source", "head", "yes"),
    [
        ("|--|:-:|", "| a | b |", True),
        ("--|--", "a | b", True),
        ("|--|", "| a | b |", False),
        ("| a | - |", "| a | b |", False),
        ("---", "a", False),
    ],
)
def test_a_delimiter_row_has_as_many_cells_as_the_head(source: str, head: str, yes: bool) -> None:
    assert is_delimiter_of(source, head) is yes


def test_a_line_of_bars_is_no_table() -> None:
    assert not may_be_head("|" * 5000)
