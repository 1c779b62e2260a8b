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
from tests.flags import eventually


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


async def test_a_flood_is_told_in_batches_as_it_comes() -> None:
    batches: list[Sequence[FileChange]] = []
    gathering = ChangeBatches(asyncio.get_running_loop(), batches.append)
    for number in range(3 * MOST_WAITING):
        gathering.add(str(number), "added")
        # Without waiting for quiet: no more than that are ever kept.
        assert number + 1 - sum(len(batch) for batch in batches) <= MOST_WAITING
    assert {len(batch) for batch in batches} == {BATCH}
    gathering.close()


async def test_others_have_their_turn_between_batches_and_none_is_told_twice() -> None:
    batches: list[Sequence[FileChange]] = []
    told_between: set[int] = set()
    gathering = ChangeBatches(asyncio.get_running_loop(), batches.append)
    paths = [str(number) for number in range(5 * BATCH)]
    for path in paths:
        gathering.add(path, "added")
    while len(batches) < 5:
        await asyncio.sleep(0)
        if len(batches) == 1 and told_between == {0}:
            # What is due need not be so any more.
            gathering.add(paths[-1], "deleted")
        told_between.add(len(batches))
    assert told_between == {0, 1, 2, 3, 4, 5}
    assert [change.path for batch in batches for change in batch] == paths[:-1]
    gathering.close()


async def test_whoever_fails_over_a_batch_is_told_the_next() -> None:
    told: list[str] = []
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))

    def on_batch(batch: Sequence[FileChange]) -> None:
        told.extend(change.path for change in batch)
        if len(told) == 1:
            raise ValueError

    gathering = ChangeBatches(asyncio.get_running_loop(), on_batch)
    gathering.add("first", "added")
    await eventually(lambda: told == ["first"])
    gathering.add("second", "added")
    await eventually(lambda: told == ["first", "second"])
    assert len(failures) == 1
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
