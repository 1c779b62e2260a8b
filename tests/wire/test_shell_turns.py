"""Messages that are commands: a turn that runs one in a terminal, and no agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.agents.api import SessionContext
from agenthost.host import Host, MemoryStore, Role, ShellPolicy
from agenthost.host.store import MemoryBacking
from agenthost.protocol import NEWEST
from tests.children import gone, is_alive
from tests.flags import Flag
from tests.wire.client import open_client, user_message
from tests.wire.hosting import embed, serve
from tests.wire.people import peopled
from tests.wire.talking import OLDEST, Chat, at_chat, calls_of, said
from tests.wire.terminal_blocks import blocks_of, numbers_printed, opened, text_in, until_printed

Json = dict[str, Any]
BANG = ShellPolicy(prefix="!")


class Clerk(Agent):
    """Answers with what it was told of, and lets workers do so."""

    provider, display_name, resumable = "clerk", "Clerk", True
    capabilities: Mapping[str, Any] = {"multipleChats": {"fork": True, "sideChat": True}}

    def __init__(self) -> None:
        self.started: list[str] = []
        self.may_end = Flag()

    async def start_session(self, session: SessionContext) -> None:
        self.started.append(session.session)

    async def run(self, turn: Turn) -> None:
        if turn.text == "wait":
            await self.may_end.wait()
        if turn.text.startswith("delegate "):
            async with turn.tool("worker") as call:
                await call.delegate(turn.text.removeprefix("delegate "), title="Worker")
            return
        told = [past["message"]["text"] for past in turn.history]
        await turn.write(f"{turn.text} after {told}")


@asynccontextmanager
async def clerk(folder: Path, *versions: str, **options: Any) -> AsyncIterator[tuple[Chat, Clerk]]:
    agent = Clerk()
    options = {"shells": BANG, "default_directory": folder, **options}
    async with embed(agent, **options) as url, at_chat(url, "shell", *versions) as chat:
        yield chat, agent


async def test_a_command_runs_in_a_terminal_and_the_agent_is_not_started(tmp_path: Path) -> None:
    async with clerk(tmp_path, OLDEST) as (chat, agent):
        turn = await chat.run("t1", "!pwd; echo done > made.txt")
        assert (turn["state"], agent.started) == ("complete", [])
        assert (tmp_path / "made.txt").read_text() == "done\n"
        (call,) = calls_of(turn)
        assert (call["status"], call["confirmed"]) == ("completed", "not-needed")
        assert call["toolInput"] == "pwd; echo done > made.txt"
        assert call["_meta"]["toolKind"] == "terminal"
        (block,) = blocks_of(call)
        assert block["result"] == {
            "exitCode": 0,
            "preview": f"{tmp_path}\r\n",
            "truncated": False,
        }
        # Whoever comes later can open it, whatever they speak.
        for client in chat.clients:
            shown = await client.subscribe(block["resource"])
            assert f"{tmp_path}\r\n" in str(shown["content"][0].get("output"))
        await chat.assert_at_rest()


async def test_the_agent_is_told_nothing_of_commands(tmp_path: Path) -> None:
    async with clerk(tmp_path) as (chat, _):
        await chat.run("t1", "hello")
        await chat.run("t2", "!true")
        assert said(await chat.run("t3", "again")) == "again after ['hello']"
        side = {"kind": "sideChat", "chat": chat.uri, "turnId": "t3"}
        uri = "ahp-chat:/side"
        await chat.client.request("createChat", channel=chat.session, chat=uri, source=side)
        await chat.client.subscribe(uri)
        await chat.client.run_turn(uri, "s1", "aside")
        assert said(chat.client.states[uri]["turns"][0]) == "aside after ['hello', 'again']"


@pytest.mark.parametrize("text", ["!", "!  ", " !true", "! \n "])
async def test_a_message_that_is_no_command_goes_to_the_agent(tmp_path: Path, text: str) -> None:
    async with clerk(tmp_path) as (chat, agent):
        turn = await chat.run("t1", text)
        assert said(turn) == f"{text} after []"
        assert agent.started == [chat.session]


async def test_without_a_prefix_nothing_is_a_command(tmp_path: Path) -> None:
    async with clerk(tmp_path, shells=ShellPolicy()) as (chat, _):
        assert said(await chat.run("t1", "!true")) == "!true after []"


async def test_a_client_that_is_not_told_of_commands_sends_messages(tmp_path: Path) -> None:
    async with clerk(tmp_path, OLDEST) as (chat, _):
        older = chat.clients[1]
        await older.start_turn(chat.uri, "t1", "!touch made.txt")
        assert said(await chat.end("t1")) == "!touch made.txt after []"
        assert not (tmp_path / "made.txt").exists()


async def test_an_agent_cannot_run_a_command_by_having_a_worker_told_one(tmp_path: Path) -> None:
    async with clerk(tmp_path) as (chat, _):
        (call,) = calls_of(await chat.run("t1", "delegate !touch made.txt"))
        assert call["content"][-1]["text"] == "!touch made.txt after []"
        assert not (tmp_path / "made.txt").exists()


async def test_a_command_that_fails_is_a_turn_that_is_complete(tmp_path: Path) -> None:
    async with clerk(tmp_path) as (chat, _):
        turn = await chat.run("t1", "!exit 3")
        (call,) = calls_of(turn)
        assert turn["state"] == "complete"
        assert (call["success"], call["error"]["message"]) == (False, "exit code 3")
        assert blocks_of(call)[0]["result"]["exitCode"] == 3


async def test_a_command_waits_for_the_turn_that_runs(tmp_path: Path) -> None:
    async with clerk(tmp_path) as (chat, agent):
        await chat.start("t1", "wait")
        queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q1"}
        message = user_message("!echo mine > made.txt")
        await chat.client.accepted(chat.uri, {**queued, "message": message})
        await chat.client.ping()
        assert not (tmp_path / "made.txt").exists()
        agent.may_end.set()
        started = await chat.client.action(chat.uri, "chat/turnStarted", queuedMessageId="q1")
        (call,) = calls_of(await chat.end(started["turnId"]))
        assert blocks_of(call)[0]["result"]["exitCode"] == 0
        assert (tmp_path / "made.txt").read_text() == "mine\n"


async def test_cancelling_the_turn_ends_the_command(tmp_path: Path) -> None:
    async with clerk(tmp_path) as (chat, _):
        await chat.start("t1", "!echo $$; sleep 600 & echo $!; wait")
        pids = await numbers_printed(chat.client, chat.uri, 2)
        assert all(map(is_alive, pids))
        await chat.cancel("t1")
        await gone(*pids)
        assert (await chat.end("t1"))["state"] == "cancelled"


async def test_somebody_types_into_the_command(tmp_path: Path) -> None:
    async with clerk(tmp_path) as (chat, _):
        await chat.start("t1", "!read line; echo it was $line")
        terminal = await opened(chat.client, chat.uri)
        typed = {"type": "terminal/input", "data": "me\r"}
        await chat.client.dispatch(terminal, typed)
        await until_printed(chat.client, terminal, "it was me")
        (call,) = calls_of(await chat.end("t1"))
        assert "it was me" in blocks_of(call)[0]["result"]["preview"]


async def test_a_viewer_runs_no_commands(tmp_path: Path) -> None:
    async with (
        peopled(tmp_path / "tokens", default_directory=tmp_path, shells=BANG) as people,
        people.client("owner") as owner,
        people.client("vic", Role.VIEWER) as viewer,
    ):
        chat = await owner.ready_session("ahp-session:/s1")
        await viewer.subscribe(chat)
        refusal = await viewer.rejected(chat, viewer.turn_started("t1", "!touch made.txt"))
        assert refusal == "the role viewer may not dispatch chat/turnStarted"
        await owner.ping()
        assert not (tmp_path / "made.txt").exists()


async def test_a_command_that_the_host_stopped_over_is_not_taken_up_again(tmp_path: Path) -> None:
    backing = MemoryBacking()
    async with clerk(tmp_path, store=MemoryStore(backing)) as (chat, _):
        await chat.start("t1", "!echo $$; exec sleep 600")
        (pid,) = await numbers_printed(chat.client, chat.uri, 1)
        uri = chat.uri
    await gone(pid)
    async with (
        Host([Clerk()], store=MemoryStore(backing), shells=BANG) as host,
        open_client(await host.listen(port=0)) as client,
    ):
        await client.initialize()
        (turn,) = (await client.subscribe(uri))["turns"]
        assert turn["responseParts"][-1]["error"]["errorType"] == "hostStopped"
        assert "resumable" not in turn["responseParts"][-1]
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", False)
        (block,) = blocks_of(call)
        assert block["result"] == {}
        terminal = await client.subscribe(block["resource"])
        assert terminal["lifecycle"]["status"] == "exited"
        assert text_in(terminal).split() == [str(pid)]


async def test_what_a_command_printed_is_there_after_a_crash(tmp_path: Path) -> None:
    async with serve(tmp_path / "data", cwd=tmp_path) as host:
        async with at_chat(host.url, "shell") as chat:
            await chat.start("t1", "!echo $$; exec sleep 600")
            (pid,) = await numbers_printed(chat.client, chat.uri, 1)
            uri = chat.uri
            await host.kill()
        await gone(pid)
        await host.start()
        async with open_client(host.url) as client:
            await client.initialize()
            (turn,) = (await client.subscribe(uri))["turns"]
            assert turn["responseParts"][-1]["error"]["errorType"] == "hostRestarted"
            (call,) = calls_of(turn)
            (block,) = blocks_of(call)
            terminal = await client.subscribe(block["resource"])
            assert terminal["lifecycle"]["status"] == "exited"


@pytest.mark.parametrize("options", [(), ("--no-shell-prefix",)])
async def test_a_served_host_says_which_messages_are_commands(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    async with (
        serve(tmp_path / "data", *options, cwd=tmp_path) as host,
        open_client(host.url, version=NEWEST) as client,
    ):
        result = await client.initialize()
        assert result.get("terminalCommandPrefix") == (None if options else "!")
        chat = await client.ready_session("ahp-session:/s1")
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "!touch made.txt")
        assert (tmp_path / "made.txt").exists() is not bool(options)
