"""What changes of one path come to, and when they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.workspace.change_batches import (
    BATCH,
    MOST_WAITING,
    ChangeBatches,
    ChangeKind,
    FileChange,
    merged_kind,
)


@given(there=st.booleans(), steps=st.lists(st.sampled_from(["update", "toggle"])))
def test_what_is_told_is_the_difference(there: bool, steps: list[str]) -> None:
    """Of a file that comes, changes and goes, only what it comes to is told."""
    now, told = there, None
    for step in steps:
        if step == "update" and not now:
            continue
        kind: ChangeKind = "updated" if step == "update" else ("deleted" if now else "added")
        now = now if step == "update" else not now
        told = merged_kind(told, kind)
    if there != now:
        assert told == ("added" if now else "deleted")
    elif not there:
        assert told is None
    else:
        assert told in (None, "updated")


async def test_a_flood_is_told_in_batches_at_once() -> None:
    batches: list[Sequence[FileChange]] = []
    gathering = ChangeBatches(asyncio.get_running_loop(), batches.append)
    for number in range(MOST_WAITING + 1):
        gathering.add(str(number), "added")
    # Without waiting for quiet.
    assert sum(len(batch) for batch in batches) == MOST_WAITING + 1
    assert max(len(batch) for batch in batches) == BATCH
    gathering.close()


async def test_changes_that_never_pause_are_told_nevertheless() -> None:
    told = asyncio.Event()
    batches: list[Sequence[FileChange]] = []

    def on_batch(batch: Sequence[FileChange]) -> None:
        batches.append(batch)
        if len(batches) == 3:
            told.set()

    loop = asyncio.get_running_loop()
    gathering = ChangeBatches(loop, on_batch)
    numbers = iter(range(10**9))

    def change() -> None:
        gathering.add(str(next(numbers)), "updated")
        if not told.is_set():
            loop.call_later(0.001, change)

    change()
    await told.wait()
    gathering.close()
    order = [int(change.path) for batch in batches for change in batch]
    assert all(after == before + 1 for before, after in pairwise(order))


async def test_what_comes_to_nothing_is_no_batch() -> None:
    batches: list[Sequence[FileChange]] = []
    gathering = ChangeBatches(asyncio.get_running_loop(), batches.append)
    gathering.add("brief", "added")
    gathering.add("brief", "deleted")
    after = asyncio.Event()
    # Behind the moment at which a batch is due.
    asyncio.get_running_loop().call_later(0.3, after.set)
    await after.wait()
    assert batches == []


@pytest.mark.parametrize("kind", ["added", "updated", "deleted"])
async def test_what_is_closed_tells_nothing(kind: ChangeKind) -> None:
    batches: list[Sequence[FileChange]] = []
    gathering = ChangeBatches(asyncio.get_running_loop(), batches.append)
    gathering.add("a", kind)
    gathering.close()
    after = asyncio.Event()
    asyncio.get_running_loop().call_later(0.3, after.set)
    await after.wait()
    assert batches == []
