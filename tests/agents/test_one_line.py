from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.agents.one_line import one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("  two\n\n lines\t", "two lines"),
        ("a\u202eb\x00c", "a b c"),
        ("x" * 201, "x" * 199 + "…"),
        ("", ""),
    ],
)
def test_words_of_others_stay_in_one_line(text: str, shown: str) -> None:
    assert one_line(text) == shown


@given(st.text(), st.integers(1, 50))
def test_it_is_never_longer_and_always_prints(text: str, most: int) -> None:
    shown = one_line(text, most)
    assert len(shown) <= most
    assert all(c.isprintable() for c in shown)
