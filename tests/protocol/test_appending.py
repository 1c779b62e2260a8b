from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.protocol.appending import (
    PIECES_JOINED,
    AppendRun,
    GrowingText,
    append_key,
)
from agenthost.protocol.reduction import APPENDED_FIELDS


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


DELTA = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "x"}


def test_the_appending_actions_are_those_declared_at_their_reducers() -> None:
    assert APPENDED_FIELDS == {
        "chat/delta": "content",
        "chat/reasoning": "content",
        "terminal/data": "data",
    }


def test_a_key_names_what_is_appended_to() -> None:
    assert append_key(DELTA) == ("chat/delta", "t", "p")
    assert append_key({"type": "terminal/data", "data": "x"}) == ("terminal/data", None, None)
    others: list[dict[str, Any]] = [
        {**DELTA, "_meta": {}},
        {**DELTA, "content": 1},
        {"type": "chat/delta"},
        {},
    ]
    assert [append_key(other) for other in others] == [None] * 4


def test_a_run_becomes_one_action_with_the_text_behind_its_first() -> None:
    run = AppendRun(("chat/delta", "t", "p"), DELTA, "now")
    assert run.field == "content"
    for text in ("y", "z"):
        run.text.append(text)
    assert run.folded() == {**DELTA, "content": "yz"}
