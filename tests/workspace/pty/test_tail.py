"""The end of a long text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agenthost.workspace.pty.tail import TextTail


@given(st.lists(st.text("ab", max_size=7), max_size=40), st.integers(1, 20))
def test_it_is_the_end_and_says_when_the_beginning_is_missing(pieces: list[str], most: int) -> None:
    tail = TextTail(most)
    for piece in pieces:
        tail.add(piece)
    whole = "".join(pieces)
    assert tail.text() == whole[-most:]
    assert tail.truncated == (len(whole) > most)


def test_thousands_of_small_pieces_are_as_good_as_one() -> None:
    tail = TextTail(100)
    for number in range(5000):
        tail.add(f"{number % 10}")
    assert tail.text() == "0123456789" * 10
    assert tail.truncated
