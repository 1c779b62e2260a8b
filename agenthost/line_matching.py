"""Which lines two texts have in common. Pure.

Lines that occur once on both sides are matched first, the longest run of them that is in the same
order: they are what people would go by, and they cut a long file into short pieces. Only what lies
between them is compared line by line, and only up to a limit.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

MOST_COMPARED = 1_000_000
"""Pairs of lines that are compared in all; beyond, the old lines are replaced by the new ones."""


class Block(NamedTuple):
    """Neighbouring lines that are the same on both sides, or old ones with what replaces them."""

    same: bool
    old_from: int
    old_to: int
    new_from: int
    new_to: int


def matching_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the blocks of two texts, in order; same and changed ones take turns."""
    # What both begin and end with need not be compared, whatever its length.
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    middle = (
        Block(same, *(head + place for place in places))
        for same, *places in _anchored(old[head:old_end], new[head:new_end])
    )
    first = Block(True, 0, head, 0, head)
    last = Block(True, old_end, len(old), new_end, len(new))
    return _merged(chain((first,), middle, (last,)))


def blocks_with_context(blocks: Sequence[Block], context: int) -> Iterator[list[Block]]:
    """Yield changes with the lines around them; those that are close to each other together."""
    group: list[Block] = []
    for index, block in enumerate(blocks):
        if not block.same:
            group.append(block)
            continue
        is_last = index == len(blocks) - 1
        if group and (is_last or block.old_to - block.old_from > 2 * context):
            yield [*group, _beginning(block, context)]
            group = []
        if not is_last:
            group.append(block if group else _end(block, context))
    if any(not block.same for block in group):
        yield group


def _anchored(old: Sequence[str], new: Sequence[str]) -> Iterator[Block]:
    budget = MOST_COMPARED
    old_from = new_from = 0
    for old_to, new_to in (*_anchors(old, new), (len(old), len(new))):
        pairs = (old_to - old_from) * (new_to - new_from)
        if 0 < pairs <= budget:
            budget -= pairs
            yield from _compared(old, new, Block(False, old_from, old_to, new_from, new_to))
        else:
            yield Block(False, old_from, old_to, new_from, new_to)
        if old_to < len(old):
            yield Block(True, old_to, old_to + 1, new_to, new_to + 1)
        old_from, new_from = old_to + 1, new_to + 1


def _compared(old: Sequence[str], new: Sequence[str], gap: Block) -> Iterator[Block]:
    old_lines, new_lines = old[gap.old_from : gap.old_to], new[gap.new_from : gap.new_to]
    for kind, *places in difflib.SequenceMatcher(None, old_lines, new_lines).get_opcodes():
        old_from, old_to, new_from, new_to = places
        yield Block(
            kind == "equal",
            gap.old_from + old_from,
            gap.old_from + old_to,
            gap.new_from + new_from,
            gap.new_from + new_to,
        )


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the lines are that occur once on both sides, as many as are in order."""
    old_counts, new_counts = Counter(old), Counter(new)
    places = {text: place for place, text in enumerate(new) if new_counts[text] == 1}
    pairs = [
        (place, places[text])
        for place, text in enumerate(old)
        if old_counts[text] == 1 and text in places
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the most pairs whose second numbers rise as their first ones do."""
    # For each length of a rising run: the least number that one can end with, and that pair.
    ends: list[int] = []
    last: list[int] = []
    # For each pair the one before it in its run.
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [index]
    run: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _merged(blocks: Iterator[Block]) -> list[Block]:
    merged: list[Block] = []
    for block in blocks:
        if block.old_from == block.old_to and block.new_from == block.new_to:
            continue
        if merged and merged[-1].same == block.same:
            merged[-1] = merged[-1]._replace(old_to=block.old_to, new_to=block.new_to)
        else:
            merged.append(block)
    return merged


def _beginning(block: Block, count: int) -> Block:
    count = min(count, block.old_to - block.old_from)
    return block._replace(old_to=block.old_from + count, new_to=block.new_from + count)


def _end(block: Block, count: int) -> Block:
    count = min(count, block.old_to - block.old_from)
    return block._replace(old_from=block.old_to - count, new_from=block.new_to - count)


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    count = 0
    for left, right in zip(old, new, strict=False):
        if left != right:
            break
        count += 1
    return count
