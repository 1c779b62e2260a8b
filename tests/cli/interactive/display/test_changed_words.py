"""Words that differ within a line: whole ones, and only where most of the line stayed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.interactive.display.changed_words import LONGEST_LINE, changed_spans


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("value = one + two", "value = one + three", ("two", "three")),
        ("value = first_one", "value = first_two", ("first_one", "first_two")),
        ("call(a, b)", "call(a, more, b)", ("", "more, ")),
        ("if x:  # why", "if x:", ("  # why", "")),
        ("the same", "the same", ("", "")),
        ("all of this", "is something else", ("", "")),
        ("x" * LONGEST_LINE + " a", "x" * LONGEST_LINE + " b", ("", "")),
        ("größe = alt", "größe = neu", ("alt", "neu")),
    ],
)
def test_the_words_that_differ(old: str, new: str, marked: tuple[str, str]) -> None:
    spans = changed_spans(old, new)
    assert (
        tuple(
            "" if span is None else text[span[0] : span[1]]
            for text, span in zip((old, new), spans, strict=True)
        )
        == marked
    )


@given(st.text("ab_ (", max_size=12), st.text("ab_ (", max_size=12))
def test_what_is_not_marked_is_the_same_in_both(old: str, new: str) -> None:
    spans = changed_spans(old, new)
    if spans == (None, None):
        return
    rests = [
        text if span is None else text[: span[0]] + text[span[1] :]
        for text, span in zip((old, new), spans, strict=True)
    ]
    assert rests[0] == rests[1]
