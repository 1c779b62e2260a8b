"""What an agent says of its work in the background, and what it hears of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.agents import AgentError
from agenthost.agents.background_work import LONGEST_COMMAND, LONGEST_LABEL
from agenthost.agents.processes import CommandResult
from agenthost.agents.turn_port import Worker
from tests.agents.fakes import FakePort, make_turn

DONE = CommandResult(0, "done", False)


async def nothing() -> CommandResult:
    return DONE


async def for_ever() -> CommandResult:
    await asyncio.Event().wait()
    return DONE


async def test_people_see_what_runs_in_words_that_fit() -> None:
    port = FakePort()
    turn = make_turn(port)
    long = await turn.background_shell("l" * 1000, "c" * 10_000, run=for_ever)
    await turn.background_shell("\ud800", ["grep", "a b"], terminal="ahp-terminal:/1", run=for_ever)
    first, second = turn.background_work
    assert (first["id"], len(first["label"]), len(first["command"])) == (
        long.id,
        LONGEST_LABEL,
        LONGEST_COMMAND,
    )
    assert (second["label"], second["command"]) == ("\ufffd", "grep 'a b'")
    assert second["terminal"] == "ahp-terminal:/1"
    await long.stop()
    with pytest.raises(AgentError, match="was stopped"):
        await long.wait()
    await long.stop()
    assert [work["id"] for work in turn.background_work] == [second["id"]]


@pytest.mark.parametrize(
    "fields", [{"terminal": 7}, {"label": None}, {"label": b"x"}, {"command": [1]}]
)
async def test_what_is_no_description_is_refused_and_nothing_runs(fields: Any) -> None:
    port = FakePort()
    given = {"label": "Work", "command": "true", "run": nothing, **fields}
    with pytest.raises((AgentError, TypeError)):
        await make_turn(port).background_shell(**given)
    assert (port.works, make_turn(port).background_work) == ({}, ())


async def test_a_result_can_be_waited_for_again_and_by_several() -> None:
    work = await make_turn(FakePort()).background_shell("Work", "true", run=nothing)
    assert list(await asyncio.gather(work.wait(), work.wait())) == [DONE, DONE]
    assert not work.is_running
    assert await work.wait() == DONE


async def test_who_stops_waiting_does_not_stop_the_work() -> None:
    port = FakePort()
    work = await make_turn(port).background_shell("Work", "true", run=for_ever)
    waiting = asyncio.create_task(work.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert waiting.cancelled()
    assert work.is_running
    await work.stop()


async def test_a_worker_is_announced_by_a_call_that_is_done_when_it_has_begun() -> None:
    port = FakePort()
    turn = make_turn(port)
    port.workers = {"look": Worker("c:/worker", "seen", "complete")}
    work = await turn.background_worker("Looker", "look")
    assert (port.call["status"], port.call["success"]) == ("completed", True)
    assert port.call["content"][0]["resource"] == "c:/worker"
    assert (await work.wait()).text == "seen"
    with pytest.raises(AgentError, match="a worker is read-only and hidden, not public"):
        await turn.background_worker("Looker", "look", interactivity="public")  # type: ignore[arg-type]
