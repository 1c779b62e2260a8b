"""Calls at a server: whose questions are whose, and how long they may be silent."""

from __future__ import annotations

import asyncio

import pytest

from agenthost.mcp.limits import MOST_DECLINED, MOST_QUESTIONS
from agenthost.mcp.worker import running_calls
from agenthost.mcp.worker.running_calls import RunningCalls, current_call


async def test_a_silent_call_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_calls, "CALL_PATIENCE", 0.01)
    with RunningCalls().run("1") as call, pytest.raises(TimeoutError):
        async with call.patience():
            await asyncio.Event().wait()
    assert call.over.is_set()


async def test_no_time_passes_while_a_person_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_calls, "CALL_PATIENCE", 0.01)
    with RunningCalls().run("1") as call:
        async with call.patience():
            with call.waiting_for_a_person(), call.waiting_for_a_person():
                # Longer than the patience of a call; nothing tells that time has passed but time.
                await asyncio.sleep(0.05)


async def test_the_first_questions_are_asked_and_too_many_end_the_call() -> None:
    with RunningCalls().run("1") as call:
        asked = [call.may_ask() for _ in range(MOST_QUESTIONS + MOST_DECLINED)]
        assert asked == [True] * MOST_QUESTIONS + [False] * MOST_DECLINED
        assert not call.asked_too_much
        with pytest.raises(TimeoutError):  # noqa: PT012
            async with call.patience():
                call.may_ask()
                await asyncio.Event().wait()
    assert call.asked_too_much


async def test_a_question_belongs_to_the_call_that_carried_it_or_to_all() -> None:
    calls = RunningCalls()

    async def run(name: str, running: asyncio.Event, end: asyncio.Event) -> list[str]:
        with calls.run(name):
            running.set()
            await end.wait()
            return [call.id for call in calls.asking()]

    end = asyncio.Event()
    events = [asyncio.Event(), asyncio.Event()]
    tasks = [asyncio.create_task(run(n, e, end)) for n, e in zip("ab", events, strict=True)]
    for event in events:
        await event.wait()
    assert current_call.get() is None
    assert {call.id for call in calls.asking()} == {"a", "b"}
    end.set()
    assert await asyncio.gather(*tasks) == [["a"], ["b"]]
    assert calls.asking() == []
