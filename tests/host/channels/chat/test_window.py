"""Tail windows: cursors that stay right, and pages that are neither empty nor too big."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.errors import InvalidParams
from agenthost.host.channels.chat.window import (
    MOST_PAGE_BYTES,
    cursor_before,
    first_shown,
    page_start,
    position_of,
)

# Clients choose turn ids, so anything may be one.
ids = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), unique=True)


def turns(*names: str) -> list[dict[str, Any]]:
    return [{"id": name} for name in names]


@given(ids, st.data())
def test_a_cursor_leads_back_to_its_position(names: list[str], data: st.DataObject) -> None:
    some = turns(*names)
    position = data.draw(st.integers(0, len(some)))
    assert position_of(some, cursor_before(some, position)) == position


@given(ids.filter(bool), ids, st.data())
def test_a_cursor_stays_right_when_turns_are_added_or_cut_off_behind_it(
    names: list[str], more: list[str], data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, len(names) - 1))
    cursor = cursor_before(turns(*names), position)
    added = [name for name in more if name not in names]
    assert position_of(turns(*names, *added), cursor) == position
    assert position_of(turns(*names[: position + 1]), cursor) == position


def test_a_cursor_follows_its_turn_when_older_ones_come_or_go() -> None:
    cursor = cursor_before(turns("a", "b", "c"), 1)
    assert position_of(turns("b", "c"), cursor) == 0
    assert position_of(turns("x", "y", "a", "b"), cursor) == 3


def test_the_cursor_behind_everything_means_everything_there_is() -> None:
    cursor = cursor_before(turns("a"), 1)
    assert position_of(turns("a", "b", "c"), cursor) == 3
    assert position_of([], cursor) == 0


def test_a_turn_without_a_name_is_not_the_end() -> None:
    some = turns("a", "", "b")
    assert position_of(some, cursor_before(some, 1)) == 1


def test_a_cursor_is_safe_to_carry_anywhere() -> None:
    cursor = cursor_before(turns("żółw/?&=# 🐢"), 0)
    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert cursor.isascii()


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


KNOWN = cursor_before(turns("turn-1"), 0)


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "a",
        "turn-1",
        "żółw",
        "\ud800",
        "====",
        KNOWN[:-1],
        KNOWN + "A",
        KNOWN + "!",
        f" {KNOWN}",
        f"{KNOWN[:4]}\n{KNOWN[4:]}",
        encoded(">")[:-1] + "h",
        encoded("turn-1"),
        encoded("<gone"),
        encoded("<turn-1 "),
        encoded("\x00"),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ],
)
def test_what_is_no_cursor_of_this_chat_is_refused(cursor: str) -> None:
    some = turns("turn-1", "turn-2")
    assert position_of(some, KNOWN) == 0
    with pytest.raises(InvalidParams, match="the cursor is not known here") as refused:
        position_of(some, cursor)
    assert refused.value.path == "cursor"


@given(ids, st.text(max_size=20))
def test_any_text_is_a_position_or_refused(names: list[str], cursor: str) -> None:
    some = turns(*names)
    try:
        position = position_of(some, cursor)
    except InvalidParams:
        return
    assert cursor_before(some, position) == cursor


def test_who_asks_for_the_newest_is_shown_those() -> None:
    some = turns("a", "b", "c")
    assert first_shown(some, None) == 0
    assert [first_shown(some, newest) for newest in (0, 1, 2, 3, 4, 99)] == [3, 2, 1, 0, 0, 0]
    assert first_shown([], 5) == 0


# Pages


def test_a_page_holds_as_many_turns_as_it_may() -> None:
    sizes = [1] * 10
    assert page_start(sizes, 10, 4) == 6
    assert page_start(sizes, 6, 4) == 2
    assert page_start(sizes, 2, 4) == 0
    assert page_start(sizes, 0, 4) == 0
    assert page_start([], 0, 4) == 0


def test_a_page_ends_before_it_gets_too_big() -> None:
    half = MOST_PAGE_BYTES // 2
    assert page_start([half] * 5, 5, 100) == 3
    assert page_start([1, half, half], 3, 100) == 1


def test_a_turn_too_big_for_a_page_is_a_page() -> None:
    huge = MOST_PAGE_BYTES + 1
    assert page_start([1, huge], 2, 100) == 1
    assert page_start([1, huge, 1], 3, 100) == 2


def test_an_end_behind_the_last_turn_is_the_last_turn() -> None:
    # A chat that was cut after a window was opened on it.
    assert page_start([1] * 3, 50, 2) == 1
    assert page_start([], 50, 2) == 0


@given(
    st.lists(st.integers(0, MOST_PAGE_BYTES + 10), max_size=8),
    st.integers(1, 5),
    st.data(),
)
def test_pages_cover_every_turn_once_and_keep_their_bounds(
    sizes: list[int], most: int, data: st.DataObject
) -> None:
    end = data.draw(st.integers(0, len(sizes)))
    while end > 0:
        start = page_start(sizes, end, most)
        assert 0 <= start < end
        assert end - start <= most
        assert end - start == 1 or sum(sizes[start:end]) <= MOST_PAGE_BYTES
        end = start
