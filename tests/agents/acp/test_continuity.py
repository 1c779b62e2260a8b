"""What an agent knows of a chat: across chats, processes, hosts, forks and second thoughts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.agents.acp.stage import EXAMPLE, Stage, acp_agent, spoken, stored
from tests.agents.failures import failure
from tests.children import gone
from tests.wire.talking import Chat, said


async def remembered(chat: Chat, turn_id: str) -> list[str]:
    """Return the prompts that the agent's session remembers."""
    prompts: list[str] = json.loads(said(await chat.run(turn_id, "/recall")))
    return prompts


async def kill(chat: Chat, turn_id: str) -> None:
    """Kill the agent process in a turn."""
    await chat.start(turn_id, "/wait")
    pid = int(await spoken(chat, "waiting "))
    os.kill(pid, signal.SIGKILL)
    assert failure(await chat.end(turn_id))["errorType"] == "agentProcessEnded"
    await gone(pid)


@pytest.mark.asyncio(loop_scope="package")
async def test_chats_of_a_session_share_a_process_and_nothing_else(stage: Stage) -> None:
    one, two = await stage.chat(), await stage.chat()
    await one.start("t1", "/stream")
    session_two, pid_two = said(await two.run("t1", "/pid")).split()
    await one.cancel("t1")
    await one.end("t1")
    session_one, pid_one = said(await one.run("t2", "/pid")).split()
    assert pid_one == pid_two
    assert session_one != session_two
    assert await remembered(one, "t3") == ["/stream", "/pid"]
    assert await remembered(two, "t3") == ["/pid"]


@pytest.mark.asyncio(loop_scope="package")
async def test_a_fork_knows_what_it_was_forked_from_and_goes_its_own_way(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.run("t1", "hello")
    await chat.run("t2", "not in the fork")
    fork = await stage.chat(source={"kind": "fork", "chat": chat.uri, "turnId": "t1"})
    await fork.run("t3", "forked")
    (first,) = await remembered(fork, "t4")
    assert "User: hello" in first
    assert "not in the fork" not in first
    assert await remembered(chat, "t5") == ["hello", "not in the fork"]


async def test_an_agent_that_can_load_goes_on_in_another_process_and_host(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    env = {"ACP_STORE": str(sessions)}
    async with stored(acp_agent(env=env), tmp_path) as chat:
        await chat.run("t1", "hello")
        await kill(chat, "t2")
        # The replay of what was said is not said again.
        assert said(await chat.run("t3", "again")) == "You said: again"
        hello, wait, again = await remembered(chat, "t4")
        assert (hello, wait) == ("hello", "/wait")
        assert "User: hello" not in again
        await kill(chat, "t5")
        for file in sessions.iterdir():
            file.unlink()
        # Without its memory it is told, once.
        await chat.run("t6", "and again")
        (told,) = await remembered(chat, "t7")
        assert "User: hello" in told
    async with stored(acp_agent(env=env), tmp_path, chat.uri) as chat:
        assert await remembered(chat, "t8") == [told, "/recall"]


async def test_a_session_that_cannot_be_loaded_is_given_up_and_one_that_was_not_is_not(
    tmp_path: Path,
) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    async with stored(acp_agent(env={"ACP_STORE": str(sessions)}), tmp_path) as chat:
        await chat.run("t1", "hello")
        await kill(chat, "t2")
        (file,) = sessions.iterdir()
        kept = file.read_text()
        # Loading is cancelled, and tried again with the next turn.
        file.write_text('["/hang"]')
        os.mkfifo(sessions / "hanging")
        await chat.start("t3", "again")
        assert await asyncio.to_thread((sessions / "hanging").read_text) == "now"
        await chat.cancel("t3")
        await chat.end("t3")
        file.write_text(kept)
        assert (await remembered(chat, "t4"))[0] == "hello"
        # Loading kills the agent, and is not tried again.
        await kill(chat, "t5")
        file.write_text('["/crash"]')
        turn = await chat.run("t6", "again")
        assert failure(turn)["message"] == "Tester ended with exit code 7"
        assert "User: hello" in said(await chat.run("t7", "/recall all"))


async def test_an_agent_that_cannot_load_is_told_what_was_said(tmp_path: Path) -> None:
    async with stored(acp_agent(EXAMPLE), tmp_path) as chat:
        await chat.run("t1", "hello")
    async with stored(acp_agent(EXAMPLE), tmp_path, chat.uri) as chat:
        # It counts its sessions anew: this is session 0 again, and another one.
        told = said(await chat.run("t2", "again"))
        assert "User: hello\n\nAssistant: Client sent:hello" in told
        assert told.endswith("again")
        assert said(await chat.run("t3", "on")) == "Client sent:on"


async def test_what_people_took_back_is_forgotten_by_the_next_host_too(tmp_path: Path) -> None:
    env = {"ACP_STORE": str(tmp_path)}
    async with stored(acp_agent(env=env), tmp_path) as chat:
        await chat.run("t1", "kept")
        await chat.run("t2", "regretted")
        await chat.answer({"type": "chat/truncated", "turnId": "t1"})
        await assert_forgotten(chat, "t3")
        await chat.run("t4", "regretted too")
        await chat.answer({"type": "chat/truncated", "turnId": "t1"})
    async with stored(acp_agent(env=env), tmp_path, chat.uri) as chat:
        await assert_forgotten(chat, "t5")


async def assert_forgotten(chat: Chat, turn_id: str) -> None:
    await chat.run(turn_id, "instead")
    (first,) = await remembered(chat, f"{turn_id} remembered")
    assert "User: kept" in first
    assert "regretted" not in first
    assert first.endswith("instead")
