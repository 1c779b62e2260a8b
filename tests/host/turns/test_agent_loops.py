"""Agents run beside the host: calls into their code, and what they post back to its loop."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.host.turns import agent_loops
from agenthost.host.turns.agent_loops import LONGEST_TICK, AgentLoops, AgentQuit, Crossing
from tests.flags import PATIENCE, Flag, eventually


class Worker(Agent):
    """Has nothing but what tests call."""

    provider, display_name = "worker", "Worker"

    def __init__(self) -> None:
        self.log: list[str] = []

    async def run(self, turn: Turn) -> None: ...

    async def close(self) -> None:
        self.log.append("closed")


@asynccontextmanager
async def opened(agent: Agent) -> AsyncIterator[AgentLoops]:
    loops = AgentLoops({agent.provider: agent})
    try:
        async with asyncio.timeout(PATIENCE):
            yield loops
    finally:
        async with asyncio.timeout(PATIENCE):
            await loops.close()


async def test_a_call_runs_in_another_thread_and_its_result_comes_back() -> None:
    agent = Worker()

    async def work(word: str, *, times: int) -> tuple[str, int]:
        await asyncio.sleep(0)
        return word * times, threading.get_ident()

    async with opened(agent) as loops:
        word, thread = await loops.call(agent, work, "ab", times=2)
        assert word == "abab"
        assert thread != threading.get_ident()
        # All calls into one agent share its loop.
        assert (await loops.call(agent, work, "", times=0))[1] == thread
    assert agent.log == ["closed"]


async def test_what_an_agent_raises_is_raised() -> None:
    agent = Worker()

    async def fail() -> None:
        raise AgentError("as told")

    async with opened(agent) as loops:
        with pytest.raises(AgentError, match="as told"):
            await loops.call(agent, fail)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
async def test_what_would_end_a_process_does_not(error: BaseException) -> None:
    agent, seen = Worker(), Flag()

    async def leave() -> None:
        raise error

    async def leave_later() -> None:
        # Nobody catches it in a task and in a callback of the agent's own: its loop goes on.
        task = asyncio.ensure_future(leave())
        asyncio.get_running_loop().call_soon(_raise, error)
        asyncio.get_running_loop().call_later(0, seen.set)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async with opened(agent) as loops:
        with pytest.raises(AgentQuit) as quit:
            await loops.call(agent, leave)
        assert quit.value.__cause__ is error
        await loops.call(agent, leave_later)
        await seen.wait()
        assert await loops.read(agent, lambda: "still here") == "still here"


def _raise(error: BaseException) -> None:
    raise error


async def test_who_cancels_a_call_does_not_wait_for_the_agent_but_can() -> None:
    agent = Worker()
    started, may_end = Flag(), Flag()

    async def cling() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()
            agent.log.append("let go")

    async with opened(agent) as loops:
        calling = asyncio.create_task(loops.call(agent, cling))
        await started.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert agent.log == []
        resting = asyncio.create_task(loops.rest(PATIENCE))
        may_end.set()
        await resting
        assert agent.log == ["let go"]


async def test_an_agent_that_blocks_is_waited_for_only_so_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(agent_loops, "ANSWER_PATIENCE", 0.05)
    monkeypatch.setattr(agent_loops, "CLOSE_PATIENCE", 0.05)
    agent, other = Worker(), Worker()
    other.provider = "other"
    release, started = threading.Event(), Flag()

    async def block() -> None:
        started.set()
        release.wait(PATIENCE)

    try:
        loops = AgentLoops({"worker": agent, "other": other})
        blocking = asyncio.create_task(loops.call(agent, block))
        await started.wait()
        with pytest.raises(AgentError, match="does not answer"):
            await loops.read(agent, lambda: 1)
        # Each agent has a loop of its own.
        assert await loops.read(other, lambda: 1) == 1
        blocking.cancel()
        await loops.rest(0.01)
        await loops.close()
        assert (agent.log, other.log) == ([], ["closed"])
        assert "the agent worker does not end; it is left behind" in caplog.text
    finally:
        release.set()


async def test_in_a_hurry_nobody_waits_for_agents() -> None:
    agent, started, may_end = Worker(), Flag(), Flag()

    async def cling() -> None:
        started.set()
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                agent.log.append("not yet")

    async with opened(agent) as loops:
        calling = asyncio.create_task(loops.call(agent, cling))
        await started.wait()
        calling.cancel()
        resting = asyncio.create_task(loops.rest(3600))
        await eventually(lambda: agent.log == ["not yet"])
        assert not resting.done()
        loops.hurry()
        await resting
        may_end.set()


async def test_threads_end_with_their_agents() -> None:
    agent = Worker()
    async with opened(agent) as loops:
        assert await loops.read(agent, lambda: threading.current_thread().name) == "agent worker"
    await eventually(lambda: "agent worker" not in {t.name for t in threading.enumerate()})
    assert sys.is_finalizing() is False


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


async def test_what_threads_post_comes_over_while_it_is_open_and_after_that() -> None:
    done: list[int] = []
    crossing = Crossing()

    async def cross(number: int) -> None:
        await asyncio.to_thread(crossing.post, done.append, number)
        await eventually(lambda: number in done)

    await cross(1)
    crossing.open()
    await cross(2)
    await cross(3)
    crossing.close()
    await cross(4)
    # As an agent does that comes back to a host that stops.
    crossing.open()
    await cross(5)
    assert done == [1, 2, 3, 4, 5]


async def test_what_was_posted_before_it_is_closed_still_comes_over() -> None:
    done: list[int] = []
    crossing = Crossing()
    crossing.open()
    crossing.post(done.append, 1)
    crossing.close()
    await eventually(lambda: done == [1])


async def test_no_descriptor_is_left_behind() -> None:
    agent = Worker()

    async def work() -> None: ...

    async with opened(agent) as loops:
        await loops.call(agent, work)
    del loops
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        async with opened(agent) as loops:
            await loops.call(agent, work)
        del loops
    gc.collect()
    assert len(os.listdir("/dev/fd")) == before
