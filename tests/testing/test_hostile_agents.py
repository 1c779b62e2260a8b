"""Whatever an agent does, its test ends, and says what went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable

import pytest

from agenthost.agents import Agent, Turn
from agenthost.testing import Unanswered, run_turn, talk

# As short as a turn can be that something is seen of.
BRIEFLY = 0.3


class Scripted(Agent):
    """Does in a turn whatever a function does."""

    provider, display_name = "scripted", "Scripted"

    def __init__(self, work: Callable[[Turn], Awaitable[None]]) -> None:
        self._work = work

    async def run(self, turn: Turn) -> None:
        await self._work(turn)


async def never_ends(turn: Turn) -> None:
    await turn.write("so far")
    await asyncio.Event().wait()


async def floods(turn: Turn) -> None:
    while True:
        await turn.write("flood " * 1000)


async def asks_for_ever(turn: Turn) -> None:
    while True:
        await turn.ask("Sure?")


async def calls_for_ever(turn: Turn) -> None:
    while True:
        async with turn.tool("dig") as call:
            await call.confirm("Deeper?")


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (never_ends, "it (said 'so far'|has said nothing)$"),
        (floods, "it (said ….*flood '|has said nothing)$"),
        (asks_for_ever, "has said nothing(, asked [0-9]+ times, last 'Sure|$)"),
        (calls_for_ever, "it has said nothing"),
    ],
)
def test_what_never_ends_is_given_up_and_said(
    work: Callable[[Turn], Awaitable[None]], told: str
) -> None:
    with pytest.raises(TimeoutError, match=told) as failed:
        run_turn(Scripted(work), "hi", answers=lambda _: "yes", approve=True, timeout=BRIEFLY)
    assert len(str(failed.value)) < 1000


async def test_an_agent_that_blocks_its_loop_does_not_block_the_test() -> None:
    goes_on = threading.Event()

    async def blocks(turn: Turn) -> None:
        goes_on.wait(60)

    async with talk(Scripted(blocks), timeout=BRIEFLY) as chat:
        try:
            with pytest.raises(TimeoutError, match="it has said nothing"):
                await chat.say("hi")
        finally:
            goes_on.set()


async def test_an_agent_that_does_not_let_itself_be_stopped_holds_up_nobody() -> None:
    goes_on = threading.Event()

    async def stays(turn: Turn) -> None:
        while not goes_on.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    async with talk(Scripted(stays), timeout=BRIEFLY) as chat:
        try:
            with pytest.raises(TimeoutError):
                await chat.say("hi")
            # The chat goes on without it.
            assert chat.chat.active_turn is None
        finally:
            goes_on.set()


def test_who_asks_for_more_than_there_are_answers_is_named() -> None:
    with pytest.raises(Unanswered, match="'Sure"):
        run_turn(Scripted(asks_for_ever), "hi", answers=["yes", "yes"])


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("x" * 1_000_000)])
def test_how_an_agent_ends_is_an_error_of_its_turn(error: BaseException) -> None:
    async def fails(turn: Turn) -> None:
        raise error

    turn = run_turn(Scripted(fails), "hi")
    assert turn.error == f"the agent failed ({type(error).__name__})"


async def test_in_a_coroutine_the_other_way_is_named() -> None:
    with pytest.raises(TypeError, match="use talk"):
        run_turn(Scripted(never_ends), "hi")
