from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.delivery.growing_text import PIECES_JOINED, GrowingText


@given(st.lists(st.text(max_size=3), max_size=20))
def test_the_text_is_its_pieces(pieces: list[str]) -> None:
    text = GrowingText()
    for piece in pieces:
        text.append(piece)
    assert str(text) == "".join(pieces)
    assert bool(text) == bool(pieces)


def test_pieces_stay_in_order_across_blocks() -> None:
    text = GrowingText()
    numbers = [f"{number} " for number in range(3 * PIECES_JOINED + 7)]
    for count, number in enumerate(numbers, 1):
        text.append(number)
        if count in (PIECES_JOINED - 1, PIECES_JOINED, PIECES_JOINED + 1):
            assert str(text) == "".join(numbers[:count])
    assert str(text) == "".join(numbers)
