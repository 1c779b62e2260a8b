"""What every store promises about the catalogue of sessions."""

from __future__ import annotations

import pytest

from agenthost.host.store import BadCursor, DropSession, PutSession, Store, StoreMisuse
from agenthost.host.store.cursors import encode_cursor
from tests.host.store.conftest import Site


def session(name: str, sort_key: str) -> PutSession:
    return PutSession(name, sort_key, f"{name}@{sort_key}".encode())


async def names_from(store: Store, limit: int, cursor: str | None = None) -> list[str]:
    """Read pages of ``limit`` to the end."""
    names: list[str] = []
    while True:
        page = await store.page_sessions(limit, cursor)
        assert 0 < len(page.items) <= limit or (not names and page.next_cursor is None)
        names += [name for name, _ in page.items]
        if page.next_cursor is None:
            return names
        cursor = page.next_cursor


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
async def test_pages_of_any_size_give_the_newest_first_and_ties_by_session(
    store: Store, limit: int
) -> None:
    for name, key in (("b", "2"), ("e", "1"), ("a", "2"), ("c", "2"), ("d", "3"), ("f", "0")):
        store.write(session(name, key))
    await store.write()
    assert await names_from(store, limit) == ["d", "a", "b", "c", "e", "f"]


async def test_an_empty_catalogue_is_one_empty_page(store: Store) -> None:
    page = await store.page_sessions(10)
    assert (page.items, page.next_cursor) == ([], None)
    assert await store.count_sessions() == 0


async def test_a_full_last_page_has_no_cursor(store: Store) -> None:
    await store.write(session("a", "1"), session("b", "1"))
    page = await store.page_sessions(2)
    assert page.items == [("a", b"a@1"), ("b", b"b@1")]
    assert page.next_cursor is None


async def test_a_cursor_is_stable_while_the_catalogue_changes_elsewhere(store: Store) -> None:
    await store.write(*(session(f"s{n}", f"{n}") for n in range(9)))
    first = await store.page_sessions(3)
    assert [name for name, _ in first.items] == ["s8", "s7", "s6"]
    await store.write(
        session("newest", "9"),  # added in front
        DropSession("s6"),  # the very session the cursor was made from
        DropSession("s4"),
        session("s3", "99"),  # moved to the front
        session("between", "45"),
    )
    assert await names_from(store, 2, first.next_cursor) == ["s5", "between", "s2", "s1", "s0"]


async def test_a_cursor_outlives_everything_it_has_seen(store: Store) -> None:
    await store.write(*(session(f"s{n}", f"{n}") for n in range(4)))
    first = await store.page_sessions(2)
    await store.write(*(DropSession(f"s{n}") for n in range(4)))
    rest = await store.page_sessions(2, first.next_cursor)
    assert (rest.items, rest.next_cursor) == ([], None)


async def test_a_cursor_survives_a_restart(site: Site) -> None:
    async with site.new() as store:
        await store.write(*(session(f"s{n}", "same") for n in range(4)))
        first = await store.page_sessions(3)
        site.crash()
    async with site.new() as store:
        rest = await store.page_sessions(3, first.next_cursor)
        assert [name for name, _ in rest.items] == ["s3"]


GOOD = encode_cursor("2026-01-01T00:00:00.000Z", "ahp-session:/1")


@pytest.mark.parametrize(
    "cursor", ["", "x", "ü", "====", "AAAAAAAA", GOOD[:-1], GOOD + "A", GOOD.swapcase(), "0" + GOOD]
)
async def test_a_text_that_was_never_a_cursor_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(BadCursor):
        await store.page_sessions(3, cursor)


async def test_a_page_of_nothing_is_refused(store: Store) -> None:
    with pytest.raises(StoreMisuse):
        await store.page_sessions(0)


async def test_a_session_is_replaced_counted_and_dropped(store: Store) -> None:
    await store.write(session("a", "1"), session("b", "1"))
    await store.write(session("a", "2"))
    assert await store.count_sessions() == 2
    assert await store.session_summary("a") == b"a@2"
    await store.write(DropSession("a"), DropSession("none"))
    assert await store.count_sessions() == 1
    assert await store.session_summary("a") is None
    assert await names_from(store, 5) == ["b"]
