"""How an agent process ends: by itself, by force, with its session, with the host."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.agents.acp.stage import acp_agent, pids_shown, spoken, staged
from tests.agents.failures import failure
from tests.children import gone, is_alive
from tests.wire.talking import Chat, call_in, calls_of, said


async def test_a_process_that_ends_in_a_turn_ends_it_clearly_and_the_next_turn_has_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "agenthost")
    async with staged(acp_agent(), tmp_path) as stage:
        chat = stage.default
        killed = int(said(await chat.run("t1", "/pid")).split()[1])
        await chat.start("t2", "/edit f.txt text")
        await call_in(chat.client, chat.uri, "pending-confirmation")
        os.kill(killed, signal.SIGKILL)
        turn = await chat.end("t2")
        assert (turn["state"], failure(turn)["errorType"]) == ("error", "agentProcessEnded")
        assert failure(turn)["message"] == "Tester was killed by SIGKILL"
        assert [call["status"] for call in calls_of(turn)] == ["cancelled"]
        await gone(killed)
        again = int(said(await chat.run("t3", "/pid")).split()[1])
        assert again != killed
        await chat.assert_at_rest()
        # What the host runs for it ends with it.
        await chat.start("t4", "/run echo $$; sleep 600 & echo $!; wait")
        commands = await pids_shown(chat, 2)
        os.kill(again, signal.SIGKILL)
        await chat.end("t4")
        await gone(*commands)
        turn = await chat.run("t5", "/crash")
        assert said(turn) == "goodbye"
        assert failure(turn)["message"] == (
            "Tester ended with exit code 3; it last said:\nsomething broke\nthe key is ***"
        )
        await assert_found_out(chat, "t6")
    assert "something broke" in caplog.text
    assert "a-very-secret-value" not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def assert_found_out(chat: Chat, turn_id: str) -> None:
    """Kill a process whose child holds its pipes: that hides nothing, and the child goes too."""
    await chat.start(turn_id, "/child and wait")
    pid, child = map(int, (await spoken(chat, "pids ")).split())
    os.kill(pid, signal.SIGKILL)
    turn = await chat.end(turn_id)
    assert failure(turn)["message"] == "Tester was killed by SIGKILL"
    await gone(pid, child)


async def test_the_process_and_its_children_end_with_the_session(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path, disposal="delete") as stage:
        chat = stage.default
        pids = list(map(int, said(await chat.run("t1", "/child")).split()[1:]))
        await chat.client.request("disposeSession", channel=chat.session)
        await gone(*pids)


async def test_the_process_ends_with_the_host_also_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    async with staged(acp_agent(), tmp_path) as stage:
        idle, busy = stage.default, await stage.chat()
        pids = list(map(int, said(await idle.run("t1", "/child")).split()[1:]))
        await busy.start("t2", "/stubborn")
        await spoken(busy, "waiting ")
    # Not a wait: the host is gone, so they must be.
    assert not any(map(is_alive, pids))


async def test_a_process_that_is_idle_is_let_go_and_the_next_turn_has_another(
    tmp_path: Path,
) -> None:
    async with staged(acp_agent(idle_timeout=0.01), tmp_path) as stage:
        chat = stage.default
        pid = int(said(await chat.run("t1", "/pid")).split()[1])
        await gone(pid)
        assert "User: /pid" in said(await chat.run("t2", "/recall all"))


@pytest.mark.parametrize(
    ("command", "env", "error_type", "message"),
    [
        (["no-such-program"], {}, "agentNotStarted", "'no-such-program': No such file"),
        ([sys.executable, "-c", "raise SystemExit(5)"], {}, "agentProcessEnded", "exit code 5"),
        (None, {"ACP_VERSION": "9"}, "agentProtocol", "speaks version 9 of ACP"),
        (None, {"ACP_LOGIN": "1"}, "agentAuthRequired", "wants you to log in"),
    ],
)
async def test_an_agent_that_cannot_work_says_why(
    tmp_path: Path, command: list[str] | None, env: dict[str, str], error_type: str, message: str
) -> None:
    agent = acp_agent(env=env) if command is None else acp_agent(command)
    async with staged(agent, tmp_path) as stage:
        turn = await stage.default.run("t1", "hello")
        assert failure(turn)["errorType"] == error_type
        assert message in failure(turn)["message"]


async def test_an_agent_that_never_says_hello_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agenthost.agents.acp.connection.agent_connection.START_TIMEOUT", 0.05)
    command = [sys.executable, "-c", "import sys, time; print('?', flush=True); time.sleep(600)"]
    async with staged(acp_agent(command), tmp_path) as stage:
        turn = await stage.default.run("t1", "hello")
        assert failure(turn)["message"] == "Tester did not answer within 0.05 seconds"


async def test_an_agent_that_falls_silent_is_ended_and_its_last_words_are_told(
    tmp_path: Path,
) -> None:
    script = "import os, sys, time; print('oh', file=sys.stderr); os.close(1); time.sleep(600)"
    async with staged(acp_agent([sys.executable, "-c", script]), tmp_path) as stage:
        turn = await stage.default.run("t1", "hello")
        told = "Tester closed its output without ending; it last said:\noh"
        assert failure(turn)["message"] == told


async def test_a_session_whose_folder_is_gone_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    async with staged(acp_agent(), folder) as stage:
        folder.rmdir()
        turn = await stage.default.run("t1", "hello")
        assert failure(turn)["message"] == f"the session's folder {folder} does not exist"


async def test_a_line_without_end_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agenthost.agents.acp.connection.agent_process.LONGEST_LINE", 1000)
    command = [sys.executable, "-c", "import time; print('x' * 5000, flush=True); time.sleep(600)"]
    async with staged(acp_agent(command), tmp_path) as stage:
        async with asyncio.timeout(60):
            turn = await stage.default.run("t1", "hello")
        assert failure(turn)["message"] == "Tester sent a message that is too large"
