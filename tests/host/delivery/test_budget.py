"""What waits for all clients: shared bytes count once, and nobody's greed is another's wait."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from agenthost.host.delivery.budget import EXPECTED_BYTES, Budget, Share
from agenthost.host.delivery.outbox import Answer

LIMIT = 10 * EXPECTED_BYTES
LARGE = bytes(1_000_000)


async def enter(share: Share, stack: AsyncExitStack) -> None:
    await stack.enter_async_context(share.turn())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_many_answers_share_counts_once_and_until_the_last_of_them_is_gone() -> None:
    share = Budget(LIMIT).share("a")
    answers = [Answer((b"%d" % number, LARGE, b"}")) for number in range(100)]
    for answer in answers:
        share.hold(answer)
    assert share.used == len(LARGE)
    del answer
    del answers[1:]
    assert share.used == len(LARGE)
    answers.clear()
    assert share.used == 0


def test_what_is_not_shared_counts_each_time() -> None:
    budget = Budget(LIMIT)
    answers = [Answer((bytes([number]) * 100_000,)) for number in range(5)]
    for number, answer in enumerate(answers):
        budget.share(str(number % 2)).hold(answer)
    assert budget.used == 500_000
    assert (budget.share("0").used, budget.share("1").used) == (300_000, 200_000)


async def test_answers_are_made_only_as_many_at_once_as_there_is_room_for() -> None:
    share = Budget(LIMIT).share("a")
    async with AsyncExitStack() as stack:
        making = [asyncio.create_task(enter(share, stack)) for _ in range(50)]
        await settle()
        # One more than fit, because nobody knows beforehand how large the last one is.
        assert sum(task.done() for task in making) == 11
        await stack.aclose()
        await settle()
        assert sum(task.done() for task in making) == 22
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)
    assert share.used == 0


async def test_who_holds_less_than_its_share_never_waits_for_who_holds_more() -> None:
    budget = Budget(LIMIT)
    greedy, modest = budget.share("greedy"), budget.share("modest")
    held = Answer((bytes(2 * LIMIT),))
    greedy.hold(held)
    waiting = asyncio.create_task(enter(greedy, AsyncExitStack()))
    await settle()
    assert not waiting.done()
    assert greedy.is_wanted
    async with asyncio.timeout(60), modest.turn():
        assert modest.has_room
    assert not greedy.has_room
    # Room is made by whatever becomes of the answer.
    del held
    async with asyncio.timeout(60):
        await waiting


async def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    share = Budget(LIMIT).share("a")
    share.count(2 * LIMIT)
    waiting = [asyncio.create_task(enter(share, AsyncExitStack())) for _ in range(3)]
    await settle()
    waiting[0].cancel()
    await settle()
    share.count(-2 * LIMIT)
    # Its turn has come, and it is gone.
    waiting[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[1]
    async with asyncio.timeout(60):
        await waiting[2]
    assert share.used == EXPECTED_BYTES
