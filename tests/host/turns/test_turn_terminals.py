"""The terminals of turns with a real host: limits, and that nothing outlives what it belongs to."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.agents.turn_port import AgentTerminal
from agenthost.host.turns import background_work
from tests.children import gone, is_alive
from tests.flags import Flag, eventually
from tests.wire.hosting import embed
from tests.wire.talking import Chat, at_chat, calls_of, said
from tests.wire.terminal_blocks import blocks_of, numbers_printed, opened, until_printed

Json = dict[str, Any]
# How much may run in the background here.
MOST_WORKS = 3


class Operator(Agent):
    """Runs what it is told to, in one of several careless ways."""

    provider, display_name = "operator", "Operator"

    def __init__(self) -> None:
        self.may_end = Flag()
        self.blocked = threading.Event()
        self.may_unblock = threading.Event()
        self.terminals: list[AgentTerminal] = []
        self.works: list[Any] = []
        self.errors: list[str] = []
        self.odd: Json = {}

    async def run(self, turn: Turn) -> None:
        way, _, command = turn.text.partition(" ")
        await getattr(self, way)(turn, command)

    async def hello(self, turn: Turn, command: str) -> None:
        await turn.write("hello")

    async def call(self, turn: Turn, command: str) -> None:
        async with turn.tool("shell") as call:
            result = await call.run_in_terminal(command)
        await turn.write(f"{result.exit_code} {result.output}")

    async def background(self, turn: Turn, command: str) -> None:
        async with turn.tool("shell") as call:
            result = await call.run_in_terminal(command, background=True)
        self.works.append(result.background)

    async def forget(self, turn: Turn, command: str) -> None:
        self.terminals.append(await turn.open_terminal(command))
        await self.may_end.wait()

    async def hoard(self, turn: Turn, command: str) -> None:
        for _ in range(1000):
            try:
                self.terminals.append(await turn.open_terminal(command))
            except AgentError as error:
                self.errors.append(str(error))
        await turn.write(f"{len(self.terminals)} of 1000")

    async def pile(self, turn: Turn, command: str) -> None:
        """Leave so many commands in the background that no more may be, then one more."""
        for _ in range(MOST_WORKS + 1):
            terminal = await turn.open_terminal(command)
            self.terminals.append(terminal)
            await terminal.run_on("more")

    async def block(self, turn: Turn, command: str) -> None:
        """Block the agent's loop while a command runs."""
        self.terminals.append(await turn.open_terminal(command))
        await self.may_end.wait()
        self.blocked.set()
        self.may_unblock.wait(60)

    async def oddly(self, turn: Turn, command: str) -> None:
        async with turn.tool("shell") as call:
            try:
                result = await call.run_in_terminal(**self.odd)
            except AgentError as error:
                await turn.write(f"refused {error}")
            else:
                await turn.write(f"ended {result.exit_code}")

    async def stop(self, turn: Turn, command: str) -> None:
        for work in turn.background_work:
            await turn.stop_background_work(work["id"])


@asynccontextmanager
async def operating(folder: Path, **options: Any) -> AsyncIterator[tuple[Chat, Operator]]:
    agent = Operator()
    async with embed(agent, default_directory=folder, **options) as url, at_chat(url, "op") as chat:
        yield chat, agent


async def pid_in(folder: Path, name: str = "pid") -> int:
    """Wait until a command has written its process id into a file."""
    file = folder / name
    await eventually(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


def repr_of(odd: Json) -> str:
    return repr(odd)[:60]


SLEEP = "echo $$ > pid; exec sleep 600"


async def test_what_an_agent_forgets_ends_with_its_turn(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, agent):
        await chat.start("t1", f"forget {SLEEP}")
        pid = await pid_in(tmp_path)
        agent.may_end.set()
        await chat.end("t1")
        await gone(pid)


async def test_what_an_agent_forgets_ends_with_a_turn_that_is_cancelled(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, _):
        await chat.start("t1", f"forget {SLEEP}")
        pid = await pid_in(tmp_path)
        await chat.cancel("t1")
        await gone(pid)


async def test_an_agent_that_wants_a_thousand_terminals_is_told_how_many_there_are(
    tmp_path: Path,
) -> None:
    async with operating(tmp_path) as (chat, agent):
        turn = await chat.run("t1", "hoard sleep 600")
        assert said(turn) == f"{len(agent.terminals)} of 1000"
        assert len(agent.terminals) == 16
        assert set(agent.errors) == {"a session has at most 16 terminals: end one first"}
        # All of them end with the turn, and the next has room again, if it has to wait for that.
        assert said(await chat.run("t2", "call echo fine")) == "0 fine\n"
        await eventually(lambda: not _children_of(os.getpid(), b"sleep"))


def _children_of(pid: int, name: bytes) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words[0].endswith(name) and str(_root_of(int(entry.name), pid)) == str(pid):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _root_of(pid: int, wanted: int) -> int:
    """Return the ancestor that is wanted, or the oldest there is."""
    while pid not in (wanted, 1, 0):
        stat = Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])
    return pid


async def test_a_command_in_the_background_outlives_its_turn_and_ends_when_it_is_stopped(
    tmp_path: Path,
) -> None:
    async with operating(tmp_path) as (chat, agent):
        turn = await chat.run("t1", f"background {SLEEP}")
        (block,) = blocks_of(calls_of(turn)[0])
        pid = await pid_in(tmp_path)
        await chat.run("t2", "hello")
        assert is_alive(pid)
        (work,) = chat.state["backgroundWork"]
        assert work["terminal"] == block["resource"]
        assert work["id"] == block["resource"].rpartition("/")[2]
        claim = (await chat.client.subscribe(block["resource"]))["claim"]
        assert claim == {"kind": "session", "session": chat.session, "chat": chat.uri}
        await chat.run("t3", "stop")
        await chat.client.action(chat.uri, "chat/backgroundWorkRemoved", id=work["id"])
        await gone(pid)
        await eventually(lambda: not agent.works[0].is_running)


async def test_a_command_in_the_background_ends_by_itself(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, agent):
        await chat.run("t1", "background read line; echo it was $line; exit 4")
        (work,) = chat.state["backgroundWork"]
        await chat.client.subscribe(work["terminal"])
        await chat.client.dispatch(work["terminal"], {"type": "terminal/input", "data": "me\r"})
        await until_printed(chat.client, work["terminal"], "it was me")
        await chat.client.action(chat.uri, "chat/backgroundWorkRemoved", id=work["id"])
        await eventually(lambda: not agent.works[0].is_running)
        await chat.assert_at_rest()


async def test_too_much_in_the_background_is_an_error_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_work, "MOST_IN_CHAT", MOST_WORKS)
    async with operating(tmp_path) as (chat, agent):
        turn = await chat.run("t1", "pile sleep 600")
        assert turn["state"] == "error"
        assert len(chat.state["backgroundWork"]) == MOST_WORKS
        assert len(agent.terminals) == MOST_WORKS + 1
        await eventually(lambda: len(_children_of(os.getpid(), b"sleep")) == MOST_WORKS)
    await eventually(lambda: not _children_of(os.getpid(), b"sleep"))


async def test_an_agent_that_blocks_its_loop_holds_up_no_command_and_no_end_of_one(
    tmp_path: Path,
) -> None:
    async with operating(tmp_path) as (chat, agent):
        try:
            await chat.start("t1", f"block {SLEEP}")
            pid = await pid_in(tmp_path)
            agent.may_end.set()
            await asyncio.to_thread(agent.blocked.wait, 30)
            await chat.cancel("t1")
            await gone(pid)
        finally:
            agent.may_unblock.set()


async def test_a_command_that_is_let_go_on_while_its_agent_is_blocked_stays(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, agent):
        try:
            await chat.start("t1", f"block {SLEEP}")
            pid = await pid_in(tmp_path)
            await eventually(lambda: bool(agent.terminals))
            uri = agent.terminals[0].uri
            await chat.client.subscribe(uri)
            agent.may_end.set()
            await asyncio.to_thread(agent.blocked.wait, 30)
            claim = {"kind": "session", "session": chat.session, "chat": chat.uri}
            await chat.client.accepted(uri, {"type": "terminal/claimed", "claim": claim})
            await chat.client.action(chat.uri, "chat/backgroundWorkSet")
            await chat.cancel("t1")
            await chat.client.ping()
            assert is_alive(pid)
        finally:
            agent.may_unblock.set()
    await gone(pid)


async def test_removing_the_session_ends_what_runs_in_it(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, _):
        await chat.run("t1", f"background {SLEEP}")
        pid = await pid_in(tmp_path)
        await chat.client.request("disposeSession", channel=chat.session)
        await gone(pid)


async def test_stopping_the_host_ends_what_runs(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, _):
        await chat.run("t1", f"background {SLEEP}")
        behind = await pid_in(tmp_path)
        await chat.start("t2", "call echo $$; exec sleep 600")
        (running,) = await numbers_printed(chat.client, chat.uri, 1)
    await gone(behind, running)


async def test_a_command_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, _):
        folder = tmp_path / "gone"
        folder.mkdir()
        chat_2 = "ahp-session:/nowhere"
        uri = await chat.client.ready_session(chat_2, workingDirectories=[folder.as_uri()])
        await chat.client.subscribe(uri)
        folder.rmdir()
        await chat.client.run_turn(uri, "t1", "call true")
        (turn,) = chat.client.states[uri]["turns"]
        (call,) = calls_of(turn)
        assert call["status"] == "completed"
        assert "No such file or directory" in call["error"]["message"]


@pytest.mark.parametrize("command", ["kill -9 $$", "exec 0<&- 1>&- 2>&-; exit 5"])
async def test_a_command_that_ends_oddly_has_ended(tmp_path: Path, command: str) -> None:
    async with operating(tmp_path) as (chat, _):
        turn = await chat.run("t1", f"call {command}")
        code = 137 if "kill" in command else 5
        assert said(turn).startswith(f"{code} ")
        assert blocks_of(calls_of(turn)[0])[0]["result"]["exitCode"] == code


async def test_a_flood_leaves_no_more_than_its_end(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, _):
        await chat.run("t1", "call yes | head -c 5000000; echo; echo over")
        (call,) = calls_of(chat.state["turns"][0])
        block, text, reference = call["content"]
        assert block["result"]["truncated"] is True
        assert len(block["result"]["preview"].encode()) <= 16 * 1024
        assert block["result"]["preview"].endswith("over\r\n")
        assert len(text["text"]) <= 16 * 1024
        assert reference["sizeHint"] <= 256 * 1024


async def test_two_chats_have_terminals_of_their_own(tmp_path: Path) -> None:
    async with operating(tmp_path) as (chat, _):
        await chat.start("t1", "call echo one; read x")
        first = await opened(chat.client, chat.uri)
        uri = await chat.client.ready_session("ahp-session:/other")
        await chat.client.subscribe(uri)
        await chat.client.start_turn(uri, "o1", "call echo two; read x")
        second = await opened(chat.client, uri)
        await until_printed(chat.client, first, "one")
        await until_printed(chat.client, second, "two")
        await chat.cancel("t1")
        await chat.client.dispatch(second, {"type": "terminal/input", "data": "\r"})
        assert (await chat.client.turn_end(uri, "o1"))["type"] == "chat/turnComplete"


@pytest.mark.parametrize(
    "odd",
    [
        {"command": "echo \0"},
        {"command": "echo \ud83d"},
        {"command": []},
        {"command": ["/no/such/program"]},
        {"command": ["."]},
        {"command": "x" * 3_000_000},
        {"command": "true", "env": {"A": "\0"}},
        {"command": "true", "env": {"A=B": "c"}},
        {"command": "true", "env": {"": "c"}},
        {"command": "true", "cwd": "/no/such/folder"},
        {"command": "true", "cwd": "\0"},
        {"command": "true", "cwd": "/etc/passwd"},
        {"command": "true", "cwd": ""},
    ],
    ids=repr_of,
)
async def test_what_cannot_be_run_is_an_error_of_the_call_and_not_of_the_host(
    tmp_path: Path, odd: Json
) -> None:
    async with operating(tmp_path) as (chat, agent):
        agent.odd = odd
        turn = await chat.run("t1", "oddly")
        (call,) = calls_of(turn)
        assert call["status"] == "completed"
        assert "the agent failed" not in said(turn)
        assert said(turn).partition(" ")[0] in ("ended", "refused")
        assert said(await chat.run("t2", "call echo fine")) == "0 fine\n"
