"""Commands that the host runs for an agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.acp.stage import Stage, acp_agent, assert_quiet, pids_shown, staged
from tests.children import gone, is_alive
from tests.wire.talking import calls_of, said
from tests.wire.terminal_blocks import blocks_of, opened, until_printed

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_command_runs_in_the_folder_and_its_output_is_shown(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/run pwd; echo $FROM_AGENT; echo oops >&2")
    output = f"{stage.folder}\nagent\noops\n"
    assert said(turn) == f"0 {output!r} False"
    (call,) = calls_of(turn)
    assert (call["toolName"], call["displayName"]) == ("execute", "Run")
    assert call["_meta"] == {"toolKind": "terminal"}
    # The agent marks it as code, which people would see as it is.
    command = "pwd; echo $FROM_AGENT; echo oops >&2"
    assert call["invocationMessage"] == call["pastTenseMessage"] == f"Run {command}"
    assert (call["status"], call["success"]) == ("completed", True)
    terminal, *texts = call["content"]
    assert [block["text"] for block in texts] == [output, "note"]
    assert terminal["title"] == command
    preview = output.replace("\n", "\r\n")
    assert terminal["result"] == {"exitCode": 0, "preview": preview, "truncated": False}
    assert call["structuredContent"] == {"kind": "execute", "exitCode": 0}


async def test_neither_the_program_nor_its_commands_see_the_hosts_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTHOST_TOKEN", "hush")
    monkeypatch.setenv("SOME_API_KEY", "its-own")
    async with staged(acp_agent(), tmp_path) as stage:
        turn = await stage.default.run("t1", "/run echo =$AGENTHOST_TOKEN$SOME_API_KEY=")
        assert said(turn) == f"0 {'==' + chr(10)!r} False"
        turn = await stage.default.run("t2", "/environment AGENTHOST_TOKEN SOME_API_KEY")
        assert said(turn) == "None its-own"


async def test_output_is_shown_while_the_command_runs(stage: Stage) -> None:
    chat = await stage.chat()
    fifo = stage.folder / "go"
    await chat.start("t1", f"/run mkfifo {fifo}; echo 4711; read x < {fifo}; echo $x")
    assert await pids_shown(chat, 1) == [4711]
    fifo.write_text("on\n")
    (call,) = calls_of(await chat.end("t1"))
    assert call["content"][1]["text"] == "4711\non\n"


async def test_a_command_that_fails_makes_the_call_fail(stage: Stage) -> None:
    chat = await stage.chat()
    (call,) = calls_of(await chat.run("t1", "/run echo broken; exit 3"))
    assert (call["status"], call["success"]) == ("completed", False)
    assert call["error"]["message"] == "broken"
    terminal, *texts = call["content"]
    assert terminal["result"]["exitCode"] == 3
    assert [block["text"] for block in texts] == ["broken\n", "note"]


async def test_terminals_are_killed_bounded_and_released(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/terminals")
    assert json.loads(said(turn)) == [
        "SIGHUP",
        "890\n",
        True,
        127,
        "/ lies outside of the working directories",
        "there is no terminal ID",
    ]
    await assert_quiet(chat)


async def test_people_follow_a_command_in_its_terminal_and_type_into_it(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.start("t1", "/run echo ready; read line; echo it was $line")
    terminal = await opened(chat.client, chat.uri)
    await until_printed(chat.client, terminal, "ready")
    claim = chat.client.states[terminal]["claim"]
    assert claim == {
        "kind": "session",
        "session": chat.session,
        "chat": chat.uri,
        "turnId": "t1",
    }
    await chat.client.dispatch(terminal, {"type": "terminal/input", "data": "me\r"})
    turn = await chat.end("t1")
    assert "it was me" in said(turn)
    (block,) = blocks_of(calls_of(turn)[0])
    assert (block["resource"], block["result"]["exitCode"]) == (terminal, 0)


async def test_a_program_gets_its_arguments_as_they_are(stage: Stage) -> None:
    chat = await stage.chat()
    turn = await chat.run("t1", "/arguments one 'two three' $HOME")
    assert said(turn) == "one|'two|three'|$HOME|"


async def test_a_command_that_somebody_lets_go_on_outlives_its_turn(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.start("t1", "/run echo $$; exec sleep 600")
    (pid,) = await pids_shown(chat, 1)
    terminal = await opened(chat.client, chat.uri)
    claim = {"kind": "session", "session": chat.session, "chat": chat.uri}
    await chat.client.accepted(terminal, {"type": "terminal/claimed", "claim": claim})
    turn = await chat.end("t1")
    # The agent goes on without knowing how it will end.
    assert said(turn).startswith("None ")
    (work,) = chat.state["backgroundWork"]
    assert (work["terminal"], is_alive(pid)) == (terminal, True)
    await chat.client.request("disposeTerminal", channel=terminal)
    await gone(pid)
    await chat.client.action(chat.uri, "chat/backgroundWorkRemoved", id=work["id"])


async def test_a_command_that_its_agent_forgets_ends_with_the_turn(stage: Stage) -> None:
    chat = await stage.chat()
    pid_file = stage.folder / "forgotten"
    turn = await chat.run("t1", f"/forget echo $$ > {pid_file}; while :; do sleep 600; done")
    # It may end before it has begun.
    pid = int(pid_file.read_text() or 0) if pid_file.exists() else 0
    if pid:
        await gone(pid)
    assert said(await chat.run("t2", f"/look {said(turn)}")) == "None SIGHUP"
    await assert_quiet(chat)


async def test_an_agent_that_wants_a_thousand_terminals_is_told_how_many_there_are(
    tmp_path: Path,
) -> None:
    async with staged(acp_agent(), tmp_path) as stage:
        started, reasons = json.loads(said(await stage.default.run("t1", "/hoard sleep 600")))
        assert started == 16
        assert reasons == ["a session has at most 16 terminals: end one first"]
        # There is room again for the next turn.
        assert said(await stage.default.run("t2", "/run echo fine")).startswith("0 ")
