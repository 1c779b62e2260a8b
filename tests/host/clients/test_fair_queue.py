"""Whose message is handled next: a flood delays itself, not others."""

from __future__ import annotations

import asyncio

import pytest

from agenthost.host.clients import fair_queue
from agenthost.host.clients.fair_queue import FairQueue


class Clock:
    """The event loop's clock, moved by the work that a test pretends to do."""

    def __init__(self) -> None:
        self._now = asyncio.get_running_loop().time()
        asyncio.get_running_loop().time = lambda: self._now  # type: ignore[method-assign]

    def work(self, seconds: float) -> None:
        self._now += seconds


@pytest.fixture
async def clock() -> Clock:
    return Clock()


async def handle(pace: FairQueue, clock: Clock, name: str, cost: float, handled: list[str]) -> None:
    await pace.turn(name)
    clock.work(cost)
    handled.append(name)


async def test_who_comes_alone_does_not_wait(clock: Clock) -> None:
    pace = FairQueue()
    for _ in range(3):
        # A coroutine that never waits ends at its first step.
        with pytest.raises(StopIteration):
            pace.turn("a").send(None)


async def test_a_flood_of_one_principal_hardly_delays_another(clock: Clock) -> None:
    pace, handled = FairQueue(), list[str]()
    flood = [asyncio.create_task(handle(pace, clock, "flood", 0.005, handled)) for _ in range(200)]
    await asyncio.sleep(0)
    await handle(pace, clock, "other", 0.0, handled)
    assert handled.index("other") < 10
    await asyncio.gather(*flood)
    assert len(handled) == 201


async def test_rounds_become_as_short_as_they_should_be(clock: Clock) -> None:
    pace, handled, rounds = FairQueue(), list[str](), list[float]()
    tasks = [asyncio.create_task(handle(pace, clock, "a", 0.004, handled)) for _ in range(300)]
    loop = asyncio.get_running_loop()
    while not all(task.done() for task in tasks):
        before = loop.time()
        await asyncio.sleep(0)
        rounds.append(loop.time() - before)
    assert len(handled) == 300
    assert max(rounds) < 4 * fair_queue.ROUND_SECONDS


async def test_those_of_one_principal_keep_their_order(clock: Clock) -> None:
    pace, handled = FairQueue(), list[str]()

    async def one(number: int) -> None:
        await pace.turn("a")
        clock.work(0.003)
        handled.append(str(number))

    await asyncio.gather(*(one(number) for number in range(100)))
    assert handled == [str(number) for number in range(100)]


async def test_who_leaves_while_it_waits_holds_up_nobody(clock: Clock) -> None:
    pace, handled = FairQueue(), list[str]()
    tasks = [asyncio.create_task(handle(pace, clock, "a", 0.02, handled)) for _ in range(5)]
    await asyncio.sleep(0)
    for task in tasks[1:4]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert handled == ["a", "a"]
