from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.store import BadCursor
from agenthost.host.store.cursors import decode_cursor, encode_cursor

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT, TEXT)
def test_a_cursor_gives_back_the_place_it_was_made_from(sort_key: str, session: str) -> None:
    assert decode_cursor(encode_cursor(sort_key, session)) == (sort_key, session)


@given(TEXT, TEXT)
def test_a_cursor_needs_no_quoting_in_a_url(sort_key: str, session: str) -> None:
    cursor = encode_cursor(sort_key, session)
    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert cursor.isascii()


@given(st.text(), st.integers(0, 200), st.characters())
def test_a_mangled_cursor_is_refused(session: str, position: int, letter: str) -> None:
    cursor = encode_cursor(
        "2026-01-01", "ahp-session:/" + session.encode().hex() if session else ""
    )
    place = position % len(cursor)
    mangled = cursor[:place] + letter + cursor[place + 1 :]
    if mangled != cursor:
        with pytest.raises(BadCursor):
            decode_cursor(mangled)


@given(st.text())
def test_any_other_text_is_refused_and_nothing_worse_happens(text: str) -> None:
    with pytest.raises(BadCursor):
        decode_cursor(text)
