"""Work beside the turns of a chat: when it is listed, how it ends, and that it has bounds."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, Turn
from agenthost.agents.demo import Demo
from agenthost.agents.processes import CommandResult
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.host.turns.background_work import MOST_IN_CHAT
from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS
from tests.agents.failures import failure
from tests.agents.llm.talking import SESSION, Talk, calls_of, talk_to, text_of
from tests.children import gone
from tests.flags import Flag, eventually
from tests.wire.client import open_client
from tests.wire.hosting import embed
from tests.wire.mirrors import assert_mirrors

Json = dict[str, Any]


class Busy(Agent):
    """Does what its message says beside its turns."""

    provider, display_name = "busy", "Busy"

    def __init__(self) -> None:
        self.may_end = Flag()
        self.stopped = Flag()
        # What it waited for, after the turn.
        self.outcomes: list[Any] = []
        self.works: list[Any] = []
        self.waiting: list[asyncio.Task[None]] = []

    async def run(self, turn: Turn) -> None:
        word, _, rest = turn.text.partition(" ")
        if word == "stubborn":
            work = await turn.background_shell("Stubborn", "never", run=self._stay)
            self.works.append(work)
            self._watch(work)
        elif word == "crash":
            self._watch(await turn.background_shell("Crash", "boom", run=self._crash))
        elif word == "shell":
            work = await turn.background_shell("Shell", rest or "echo done")
            self.works.append(work)
            self._watch(work)
        elif word == "worker":
            self._watch(await turn.background_worker("Helper", rest))
        elif word == "many":
            for _ in range(10_000):
                self.works.append(await turn.background_shell("More", "x", run=self._stay))
        elif word == "list":
            await turn.write(" ".join(work["label"] for work in turn.background_work))
        elif word == "stop":
            for listed in turn.background_work:
                assert await turn.stop_background_work(listed["id"])
            assert not await turn.stop_background_work("nothing")
        elif word == "wait":
            await self.may_end.wait()
            await turn.write("waited")
        else:
            await turn.write(f"worked on {turn.text}")

    async def _stay(self) -> CommandResult:
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        return CommandResult(0, "", False)

    async def _crash(self) -> CommandResult:
        raise RuntimeError("it broke")

    def _watch(self, work: Any) -> None:
        async def watch() -> None:
            try:
                self.outcomes.append(await work.wait())
            except Exception as error:
                self.outcomes.append(error)

        self.waiting.append(asyncio.create_task(watch()))


def works(talk: Talk) -> list[Json]:
    listed: list[Json] = talk.state.get("backgroundWork") or []
    return listed


async def until_none(talk: Talk) -> None:
    # A command that ended before its turn went on was never listed.
    await talk.client.until(lambda: None if works(talk) else {})


async def test_it_is_listed_while_it_runs_outlives_its_turn_and_is_taken_off_at_its_end(
    tmp_path: Path,
) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        turn = await talk.say("t1", "stubborn")
        assert turn["state"] == "complete"
        (work,) = works(talk)
        assert work["startedAt"] >= turn["startedAt"]
        assert {**work, "id": "", "startedAt": ""} == {
            "id": "", "startedAt": "", "kind": "shell", "label": "Stubborn", "command": "never",
        }  # fmt: skip
        assert text_of(await talk.say("t2", "list")) == "Stubborn"
        await talk.start("t3", "wait")
        await talk.cancel("t3")
        assert (await talk.end("t3"))["state"] == "cancelled"
        assert works(talk) == [work]
        assert agent.works[0].is_running
        agent.may_end.set()
        await until_none(talk)
        assert not agent.stopped.is_set()
        await eventually(lambda: agent.outcomes == [CommandResult(0, "", False)])
        await assert_mirrors(talk.client)


async def test_a_command_runs_in_the_folder_and_its_result_is_the_agents(tmp_path: Path) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        await talk.say("t1", "shell pwd; exit 3")
        await until_none(talk)
        await eventually(lambda: bool(agent.outcomes))
        (result,) = agent.outcomes
        assert (result.exit_code, result.output.strip()) == (3, str(tmp_path))


async def test_whoever_stops_it_ends_its_processes(tmp_path: Path) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        await talk.say("t1", "shell echo $$ > pid; exec sleep 600")
        await eventually(lambda: (tmp_path / "pid").exists() and pid_in(tmp_path) > 0)
        await talk.say("t2", "stop")
        await until_none(talk)
        await gone(pid_in(tmp_path))
        await eventually(lambda: bool(agent.outcomes))
        (error,) = agent.outcomes
        assert isinstance(error, AgentError)
        assert error.error_type == "stopped"


def pid_in(folder: Path) -> int:
    return int((folder / "pid").read_text() or 0)


async def test_a_failure_is_logged_and_told_to_whoever_waits_and_to_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        assert (await talk.say("t1", "crash"))["state"] == "complete"
        await until_none(talk)
        await eventually(lambda: bool(agent.outcomes))
        assert str(agent.outcomes[0]) == "it broke"
        assert "RuntimeError: it broke" in caplog.text
        assert "it broke" not in str(talk.client.received)


async def test_a_command_that_cannot_run_is_not_listed(tmp_path: Path) -> None:
    agent = Busy()
    folder = tmp_path / "soon gone"
    folder.mkdir()
    async with talk_to(agent, folder) as talk:
        folder.rmdir()
        turn = await talk.say("t1", "shell echo")
        told = "the command could not be started: No such file or directory"
        assert failure(turn)["message"] == told
        assert works(talk) == []


async def test_a_chat_takes_some_and_no_more_and_others_are_none_the_worse(
    tmp_path: Path,
) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        turn = await talk.say("t1", "many")
        assert failure(turn)["errorType"] == "tooMuchBackgroundWork"
        assert len(works(talk)) == MOST_IN_CHAT
        other = "ahp-chat:/other"
        await talk.client.request("createChat", channel=SESSION, chat=other)
        await talk.client.subscribe(other)
        beside = Talk(talk.client, other)
        assert (await beside.say("o1", "stubborn"))["state"] == "complete"
        # A worker that may not run gets no chat.
        chats = len(talk.client.states[SESSION]["chats"])
        assert failure(await talk.say("t2", "worker hello"))["errorType"] == "tooMuchBackgroundWork"
        assert len(talk.client.states[SESSION]["chats"]) == chats
        await talk.say("t3", "stop")
        await until_none(talk)
        assert len(works(beside)) == 1
        assert (await talk.say("t4", "stubborn"))["state"] == "complete"


async def test_a_worker_goes_on_beside_the_turns_in_a_chat_that_its_call_names(
    tmp_path: Path,
) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        turn = await talk.say("t1", "worker wait")
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", True)
        assert call["pastTenseMessage"] == "Helper works in the background"
        (block,) = call["content"]
        (work,) = works(talk)
        assert (work["kind"], work["label"]) == ("subagent", "Helper")
        assert work["chat"] == block["resource"]
        assert text_of(await talk.say("t2", "hello")) == "worked on hello"
        agent.may_end.set()
        await until_none(talk)
        await eventually(lambda: bool(agent.outcomes))
        (outcome,) = agent.outcomes
        assert (outcome.chat, outcome.state, outcome.text) == (work["chat"], "complete", "waited")


async def test_a_worker_whose_chat_is_taken_away_is_over(tmp_path: Path) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        await talk.say("t1", "worker wait")
        (work,) = works(talk)
        await talk.client.request("disposeChat", channel=work["chat"])
        await until_none(talk)


@pytest.mark.parametrize("way", ["chat", "session", "host"])
async def test_it_ends_with_its_chat_its_session_and_its_host(way: str, tmp_path: Path) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        other = "ahp-chat:/other"
        await talk.client.request("createChat", channel=SESSION, chat=other)
        await talk.client.subscribe(other)
        await Talk(talk.client, other).say("o1", "stubborn")
        if way == "chat":
            await talk.client.request("disposeChat", channel=other)
        elif way == "session":
            await talk.client.request("disposeSession", channel=SESSION)
        if way != "host":
            await eventually(agent.stopped.is_set)
    await eventually(agent.stopped.is_set)


async def left_behind(folder: Path) -> tuple[MemoryBacking, MemoryBacking, str]:
    """Return the stores of a host that stopped over a work and of one that crashed."""
    backing = MemoryBacking()
    async with talk_to(Busy(), folder, store=MemoryStore(backing)) as talk:
        await talk.say("t1", "stubborn")
        await talk.say("t2", "stubborn")
        crashed = copy.copy(backing)
        crashed.channels, crashed.records = copy.deepcopy((backing.channels, backing.records))
        crashed.crash()
    return backing, crashed, talk.chat


async def test_what_a_former_host_left_is_listed_no_more(tmp_path: Path) -> None:
    stopped, crashed, chat = await left_behind(tmp_path)
    for backing in (stopped, crashed):
        again = talk_to(Busy(), tmp_path, store=MemoryStore(backing), session="ahp-session:/new")
        async with again as talk:
            state = await talk.client.subscribe(chat)
            assert state["backgroundWork"] == []
            assert len(state["turns"]) == 2
            await assert_mirrors(talk.client)


async def test_what_was_thrown_away_and_fetched_back_lists_nothing(tmp_path: Path) -> None:
    agent = Busy()
    async with talk_to(agent, tmp_path) as talk:
        await talk.say("t1", "stubborn")
        await talk.client.request("disposeSession", channel=SESSION)
        await eventually(agent.stopped.is_set)
        await talk.client.request("agenthost/restoreSession", channel=SESSION)
        assert not (await talk.client.subscribe(talk.chat)).get("backgroundWork")


async def test_every_version_follows_a_chat_with_work_beside_it() -> None:
    agent = Busy()
    async with embed(agent) as url, open_client(url, "newest", NEWEST) as newest:
        await newest.initialize()
        chat = await newest.ready_session(SESSION)
        await newest.subscribe(chat)
        for version in SUPPORTED_VERSIONS[1:]:
            async with open_client(url, f"older {version}", version) as older:
                await older.initialize(chat)
                await newest.run_turn(chat, f"t {version}", "stubborn")
                await older.ping()
                assert "backgroundWork" not in older.states[chat]
                await assert_mirrors(older)
        assert len(newest.states[chat]["backgroundWork"]) == len(SUPPORTED_VERSIONS) - 1


async def test_the_demo_agent_sleeps_in_the_background_and_wakes(tmp_path: Path) -> None:
    async with talk_to(Demo(), tmp_path) as talk:
        await talk.say("t1", "/background 600")
        (work,) = works(talk)
        assert (work["label"], work["command"]) == ("Sleep for 600 seconds", "sleep 600")
        assert text_of(await talk.say("t2", "/background stop")).startswith("I stopped 1 ")
        await until_none(talk)
        await talk.say("t3", "/background 0")
        await until_none(talk)
        for wrong in ("/background", "/background soon", "/background -1", "/background 1e9"):
            assert failure(await talk.say(wrong, wrong))["errorType"] == "badArguments"
