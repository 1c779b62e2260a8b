"""Terminals that tool calls run their commands in: output, outcome, what is left of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents.api import AgentError
from agenthost.host import Host, Limits
from agenthost.host.channels.terminal import host_terminal, terminals
from agenthost.host.channels.terminal.host_terminal import HostTerminal
from agenthost.host.channels.terminal.kind import TERMINAL
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.workspace.pty.process import Pty
from tests.flags import eventually
from tests.wire.client import WireClient, open_client
from tests.workspace.pty.running import keepers

PATIENCE = 60.0
SESSION, CHAT = "ahp-session:/s", "ahp-chat:/c"


@asynccontextmanager
async def hosting(folder: Path, backing: MemoryBacking | None = None, **options: Any) -> Any:
    store = MemoryStore(backing or MemoryBacking())
    async with Host(store=store, default_directory=folder, **options) as host:
        yield host


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    async with hosting(tmp_path) as host:
        yield host


async def run(host: Host, command: Any, folder: Path, **options: Any) -> HostTerminal:
    return await host.core.terminals.run(
        CHAT,
        SESSION,
        command,
        turn_id="t1",
        tool_call_id="k1",
        title="a command",
        cwd=str(folder),
        **options,
    )


async def outcome(terminal: HostTerminal) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await terminal.ended()


def listed(host: Host) -> list[Any]:
    return list(host.core.root.state["terminals"])


async def test_a_command_is_told_with_its_output_and_exit_code(host: Host, tmp_path: Path) -> None:
    terminal = await run(host, "pwd; echo $A; exit 3", tmp_path, env={"A": "b c"})
    assert [each["resource"] for each in listed(host)] == [terminal.uri]
    ended = await outcome(terminal)
    assert (ended.exit_code, ended.truncated, ended.detached) == (3, False, False)
    assert ended.output.split("\r\n") == [str(tmp_path), "b c", ""]
    state = terminal.channel.state
    (part,) = state["content"]
    assert part["type"] == "command"
    assert part["commandLine"] == "pwd; echo $A; exit 3"
    assert (part["isComplete"], part["exitCode"]) == (True, 3)
    assert part["output"] == ended.output
    assert state["lifecycle"] == {"status": "exited", "exitCode": 3}
    assert state["claim"] == {"kind": "session", "session": SESSION, "chat": CHAT}
    assert listed(host)[0]["lifecycle"] == state["lifecycle"]


async def test_a_program_gets_its_arguments_as_they_are(host: Host, tmp_path: Path) -> None:
    terminal = await run(host, ["/bin/echo", "$HOME", "a  b"], tmp_path)
    assert (await outcome(terminal)).output == "$HOME a  b\r\n"
    assert terminal.command == "/bin/echo '$HOME' 'a  b'"


async def test_a_command_gets_the_variables_that_its_agent_gives_it(
    host: Host, tmp_path: Path
) -> None:
    line = "echo $TERM $PAGER $VSCODE_X ${GIT_TERMINAL_PROMPT}"
    env = {"TERM": "dumb", "PAGER": "cat", "VSCODE_X": "1"}
    assert (await outcome(await run(host, line, tmp_path, env=env))).output == "dumb cat 1 0\r\n"


async def test_what_cannot_be_started_is_the_agents_failure(host: Host, tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="No such file"):
        await run(host, ["/nowhere/x"], tmp_path)
    with pytest.raises(AgentError, match="No such file"):
        await run(host, "true", tmp_path / "gone")
    assert listed(host) == []


async def test_there_are_only_so_many_at_once(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(max_session_terminals=2)) as host:
        first, _ = [await run(host, "sleep 300", tmp_path) for _ in range(2)]
        with pytest.raises(AgentError, match="at most 2 terminals"):
            await run(host, "true", tmp_path)
        async with asyncio.timeout(PATIENCE):
            await first.kill()
        assert (await outcome(await run(host, "true", tmp_path))).exit_code == 0


async def test_a_terminal_of_an_old_result_opens_after_a_restart(tmp_path: Path) -> None:
    backing = MemoryBacking()
    async with hosting(tmp_path, backing) as host:
        done = await run(host, "echo hello; exit 4", tmp_path)
        await outcome(done)
        cut_off = await run(host, "echo begun; sleep 300", tmp_path)
        async with asyncio.timeout(PATIENCE):
            await cut_off.ready.wait()
    async with hosting(tmp_path, backing) as host:
        url = await host.listen(port=0)
        async with open_client(url) as client:
            await client.initialize()
            state = await client.subscribe(done.uri)
            assert state["lifecycle"] == {"status": "exited", "exitCode": 4}
            assert state["content"][0]["output"] == "hello\r\n"
            assert (await client.subscribe(cut_off.uri))["content"][0]["output"] == "begun\r\n"
            typed = {"type": "terminal/input", "data": "x"}
            assert "has ended" in await client.rejected(done.uri, typed)
            assert (await client.refusal("disposeTerminal", channel=done.uri)).code == -32009
            assert (await client.refusal("subscribe", channel="ahp-terminal:/no")).code == -32008
        assert listed(host) == []
        found = await host.core.directory.find(done.uri, TERMINAL)
        assert found is not None
        assert not found.in_use


async def test_what_a_command_shows_survives_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "KEEP_SECONDS", 0.01)
    backing = MemoryBacking()
    async with hosting(tmp_path, backing) as host:
        terminal = await run(host, "echo begun; sleep 300", tmp_path)
        await host.core.writer.ledger.settle()
        blob = backing.blobs[terminal.uri]
        assert (blob.owner, b"echo begun" in blob.data) == (SESSION, True)
        await eventually(lambda: b"begun\\r\\n" in backing.blobs[terminal.uri].data)


async def test_an_ended_command_leaves_the_list_and_can_still_be_opened(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "MOST_LINGERING", 1)
    url = await host.listen(port=0)
    async with open_client(url) as client:
        await client.initialize()
        followed = await run(host, "read line", tmp_path)
        await client.subscribe(followed.uri)
        followed.type("x\r")
        await outcome(followed)
        other = await run(host, "echo other", tmp_path)
        await outcome(other)
        await eventually(lambda: [each["resource"] for each in listed(host)] == [other.uri])
        await outcome(await run(host, "true", tmp_path))
        await eventually(lambda: other.uri not in [each["resource"] for each in listed(host)])
        # Who follows one still sees it, and who comes later may open it.
        assert client.states[followed.uri]["lifecycle"]["status"] == "exited"
        assert await client.fresh(followed.uri)
        assert host.core.directory.get(other.uri) is None
        assert "other" in str(await client.subscribe(other.uri))


async def ready(client: WireClient, session: str) -> str:
    await client.initialize("ahp-root://")
    return await client.ready_session(session)


async def test_a_chat_that_moves_takes_its_terminals_along(host: Host, tmp_path: Path) -> None:
    url = await host.listen(port=0)
    async with open_client(url) as client:
        await ready(client, "ahp-session:/a")
        await client.ready_session("ahp-session:/b")
        await client.request("createChat", channel="ahp-session:/a", chat="ahp-chat:/moves")
        directory = host.core.directory
        chat = await directory.find("ahp-chat:/moves")
        assert chat is not None
        claim = {"kind": "session", "session": "ahp-session:/a", "chat": "ahp-chat:/moves"}
        await client.request("createTerminal", channel="ahp-terminal:/t", claim=claim)
        destination = {"kind": "session", "session": "ahp-session:/b"}
        await client.request("moveChat", channel="ahp-chat:/moves", destination=destination)
        assert listed(host)[0]["claim"]["session"] == "ahp-session:/b"
        await client.request("disposeSession", channel="ahp-session:/a")
        assert await client.fresh("ahp-terminal:/t")


async def test_others_go_on_while_a_flood_of_marks_is_told(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setattr(host_terminal, "WORK_SECONDS", 0.0)
    monkeypatch.setattr(host_terminal, "REST_SECONDS", 0.0)
    folder = os.open(tmp_path, os.O_PATH)
    try:
        terminal = await host.core.terminals.create(
            "ahp-terminal:/t",
            {"kind": "client", "clientId": "somebody"},
            maker="somebody",
            folder=folder,
            cwd=tmp_path.as_uri(),
            cols=80,
            rows=24,
        )
    finally:
        os.close(folder)
    terminal.take(b"\x1b]133;C\x07x\x1b]133;D;7\x07" * 300 + b"done")

    def commands() -> list[Any]:
        return [part for part in terminal.channel.state["content"] if part["type"] == "command"]

    # A moment later, not before anybody else has had a turn.
    assert len(commands()) < 10
    async with asyncio.timeout(PATIENCE):
        await terminal.all_told()
    assert [part["exitCode"] for part in commands()] == [7] * 300
    assert terminal.output().endswith("xdone")


async def test_a_command_that_ends_behind_a_flood_of_marks_is_told_whole(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_terminal, "WORK_SECONDS", 0.0)
    monkeypatch.setattr(host_terminal, "REST_SECONDS", 0.001)
    line = "for n in $(seq 300); do printf '\\033]633;P;Cwd=/%s\\007%s ' $n $n; done"
    ended = await outcome(await run(host, line, tmp_path))
    assert ended.output == "".join(f"{number} " for number in range(1, 301))


async def test_a_terminal_whose_session_goes_while_it_starts_prints_to_nobody(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    start = Pty.start

    async def start_too_late(*args: Any, **options: Any) -> Pty:
        pty = await start(*args, **options)
        host.core.terminals.end_session(SESSION)
        return pty

    monkeypatch.setattr(Pty, "start", start_too_late)
    with pytest.raises(AgentError, match="session is gone"):
        await run(host, "trap '' HUP; while :; do echo much; done", tmp_path)
    await eventually(lambda: not keepers())
    assert listed(host) == []
    assert failures == []
