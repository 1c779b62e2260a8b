"""What two texts have in common, for long files too."""

from __future__ import annotations

import difflib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.line_matching import (
    MOST_COMPARED,
    Block,
    blocks_with_context,
    matching_blocks,
)

lists = st.lists(st.sampled_from("abcdefgh"), max_size=14)
LONG = [f"line {number}" if number % 3 else "" for number in range(10_000)]


@given(lists, lists)
def test_blocks_make_one_text_of_the_other(old: list[str], new: list[str]) -> None:
    blocks = matching_blocks(old, new)
    ends = [(block.old_to, block.new_to) for block in blocks]
    assert [(block.old_from, block.new_from) for block in blocks] == [(0, 0), *ends][: len(blocks)]
    assert ([(0, 0), *ends])[-1] == (len(old), len(new))
    for block in blocks:
        sides = old[block.old_from : block.old_to], new[block.new_from : block.new_to]
        assert (sides[0] == sides[1]) is block.same
    assert all(left.same != right.same for left, right in pairwise(blocks))


@given(lists, lists, st.integers(0, 3))
def test_groups_have_every_change_and_the_context_that_is_asked_for(
    old: list[str], new: list[str], context: int
) -> None:
    blocks = matching_blocks(old, new)
    groups = list(blocks_with_context(blocks, context))
    changes = [block for group in groups for block in group if not block.same]
    assert changes == [block for block in blocks if not block.same]
    shown = [place for group in groups for block in group for place in range(*block[1:3])]
    near = {
        place
        for block in changes
        for place in range(block.old_from - context, block.old_to + context)
        if 0 <= place < len(old)
    }
    assert len(shown) == len(set(shown))
    assert near <= set(shown)


@pytest.mark.parametrize("every", [10, 200])
def test_of_a_long_file_only_what_changed_is_changed(every: int) -> None:
    new = [f"new {text}" if place % every == 0 else text for place, text in enumerate(LONG)]
    changed = [block for block in matching_blocks(LONG, new) if not block.same]
    assert sum(block.old_to - block.old_from for block in changed) == len(LONG) // every
    assert sum(block.new_to - block.new_from for block in changed) == len(LONG) // every


def test_of_two_halves_that_changed_places_one_stays() -> None:
    old = [f"line {number}" for number in range(10_000)]
    blocks = matching_blocks(old, old[5000:] + old[:5000])
    assert sum(block.old_to - block.old_from for block in blocks if block.same) == 5000


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["x", "y"] * 5000, ["y", "y", "x"] * 3000),
        ([f"old {n}" for n in range(9000)], [f"new {n}" for n in range(9000)]),
        ([*map(str, range(3000)), "z", *["x"] * 3000], [*["y"] * 3000, "z", *["w"] * 3000]),
    ],
)
def test_no_more_lines_are_compared_than_the_limit_says(
    old: list[str], new: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    class Counted(difflib.SequenceMatcher[str]):
        def __init__(self, junk: None, a: list[str], b: list[str]) -> None:
            nonlocal compared
            compared += len(a) * len(b)
            super().__init__(junk, a, b)

    monkeypatch.setattr(difflib, "SequenceMatcher", Counted)
    blocks = matching_blocks(old, new)
    assert compared <= MOST_COMPARED
    assert blocks[-1][2::2] == (len(old), len(new))


def test_equal_texts_are_one_block_and_none_is_none() -> None:
    assert matching_blocks(["a", "b"], ["a", "b"]) == [Block(True, 0, 2, 0, 2)]
    assert matching_blocks([], []) == []
    assert list(blocks_with_context(matching_blocks(["a"], ["a"]), 2)) == []
