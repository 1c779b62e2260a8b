"""What agents post is done on the host's loop, and does not keep it from everybody else."""

from __future__ import annotations

import asyncio

from agenthost.host.turns.crossing import LONGEST_TICK, Crossing


async def test_work_that_takes_long_is_spread_over_many_ticks() -> None:
    time = 0.0
    done: list[int] = []
    seen: list[int] = []

    def work(number: int) -> None:
        nonlocal time
        time += LONGEST_TICK / 4
        done.append(number)

    crossing = Crossing(now=lambda: time)
    for number in range(100):
        crossing.post(work, number)
    while len(done) < 100:
        await asyncio.sleep(0)
        seen.append(len(done))
    assert done == list(range(100))
    most_at_once = max(b - a for a, b in zip([0, *seen], seen, strict=False))
    assert most_at_once <= 5


async def test_work_that_takes_no_time_is_done_at_once() -> None:
    done: list[int] = []
    crossing = Crossing(now=lambda: 0.0)
    for number in range(100):
        crossing.post(done.append, number)
    await asyncio.sleep(0)
    assert done == list(range(100))
