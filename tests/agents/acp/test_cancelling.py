"""Cancelling a turn of an ACP agent: it ends at once, and nothing of it is left."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.agents.acp.stage import Stage, acp_agent, assert_quiet, pids_shown, spoken, staged
from tests.agents.failures import failure
from tests.children import gone, is_alive
from tests.wire.talking import Chat, call_in, calls_of, said

pytestmark = pytest.mark.asyncio(loop_scope="package")

# Seconds in which a turn that is cancelled has ended for everybody; what it waits for takes 1,000.
SOON = 60.0
# A shell and two children, one of them of its own; all would run for a long time.
COMMAND = "trap '' TERM; echo $$; sleep 1000 & echo $!; sh -c 'echo $$; sleep 1000; true'"


async def assert_cancelled(chat: Chat, turn_id: str) -> None:
    """Cancel the running turn: it ends soon, the agent goes on, and the next turn works."""
    async with asyncio.timeout(SOON):
        await chat.cancel(turn_id)
        turn = await chat.end(turn_id)
    assert turn["state"] == "cancelled"
    assert all(call["status"] in ("completed", "cancelled") for call in calls_of(turn))
    after = await chat.run(f"{turn_id} again", "/recall")
    # The very session goes on: it remembers the turn that was cancelled.
    assert turn["message"]["text"] in said(after)
    await assert_quiet(chat)


async def test_while_it_streams(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.start("t1", "/stream")
    await spoken(chat, "more more more")
    await assert_cancelled(chat, "t1")


async def test_while_it_waits_for_permission(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.start("t1", "/edit e.txt text")
    await call_in(chat.client, chat.uri, "pending-confirmation")
    await assert_cancelled(chat, "t1")
    assert not (stage.folder / "e.txt").exists()


async def test_an_agent_that_waits_for_permission_is_told_that_nobody_will_answer(
    stage: Stage,
) -> None:
    chat = await stage.chat()
    await chat.start("t1", "/patient")
    await call_in(chat.client, chat.uri, "pending-confirmation")
    await assert_cancelled(chat, "t1")
    assert json.loads(said(await chat.run("t2", "/recall")))[:2] == ["/patient", "cancelled"]


async def test_while_it_runs_a_command(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.start("t1", f"/run {COMMAND}")
    pids = await pids_shown(chat, 3)
    assert all(map(is_alive, pids))
    await assert_cancelled(chat, "t1")
    await gone(*pids)


async def test_an_agent_that_does_not_stop_is_ended_and_another_one_started(tmp_path: Path) -> None:
    async with staged(acp_agent(cancel_timeout=0.2), tmp_path) as stage:
        chat, other = stage.default, await stage.chat()
        await other.start("o1", "/wait")
        await spoken(other, "waiting ")
        await chat.start("t1", "/stubborn")
        pid = int(await spoken(chat, "waiting "))
        async with asyncio.timeout(SOON):
            await chat.cancel("t1")
            await chat.end("t1")
        await gone(pid)
        # Its other chat shared the process, and is told why.
        turn = await other.end("o1")
        assert failure(turn)["errorType"] == "agentProcessEnded"
        assert failure(turn)["message"] == (
            "Tester was ended because it did not stop when it was told to"
        )
        session, new = said(await chat.run("t2", "/pid")).split()
        assert int(new) != pid
        assert session.startswith(f"s-{new}-")
        assert is_alive(int(new))


async def test_while_it_streams_others_of_its_process_go_on(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path) as stage:
        chat, other = stage.default, await stage.chat()
        await other.start("o1", "/wait")
        await spoken(other, "waiting ")
        for number in range(5):
            # The end of the turn reaches whoever writes into it, and then its task.
            await chat.start(f"t{number}", "/many 1000000")
            await chat.client.action(chat.uri, "chat/delta")
            await chat.cancel(f"t{number}")
            await chat.end(f"t{number}")
        await chat.run("last", "/pid")
        assert other.state["activeTurn"]["id"] == "o1"
        await other.cancel("o1")
        await other.end("o1")


async def test_before_the_agent_has_said_hello(tmp_path: Path) -> None:
    async with staged(acp_agent(env={"ACP_MUTE": "1"}), tmp_path) as stage:
        chat = stage.default
        await chat.start("t1", "hello")
        async with asyncio.timeout(SOON):
            await chat.cancel("t1")
            await chat.end("t1")
        await assert_quiet(chat)
