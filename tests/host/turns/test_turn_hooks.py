"""What others of the host do around turns: when they are asked, and that they harm no turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, AgentError, SessionContext, Turn
from agenthost.host import Host
from agenthost.host.turns import turn_hooks
from tests.flags import Flag, eventually
from tests.wire.client import WireClient, open_client

Json = dict[str, Any]
SESSION = "ahp-session:/hooked"


class Worker(Agent):
    """Notes when it works; fails, or waits, when it is told to."""

    provider, display_name, resumable = "worker", "Worker", True

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.may_end = Flag()
        # What its start in a session waits for, if anything.
        self.may_start: Flag | None = None

    async def start_session(self, session: SessionContext) -> None:
        if self.may_start is not None:
            self.log.append("starts")
            await self.may_start.wait()

    async def run(self, turn: Turn) -> None:
        self.log.append(f"works in {turn.session.folder}")
        if turn.text == "wait":
            await self.may_end.wait()
        if turn.text == "fail" and not turn.is_resumed:
            raise AgentError("it failed", "failed", resumable=True)


class Looker:
    """Notes when turns begin and end."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        # What a turn's beginning waits for, if anything.
        self.patience: asyncio.Event | None = None
        self.trouble: Exception | None = None

    async def begins(self, chat: Any, session: Any, turn_id: str) -> None:
        self.log.append(f"{turn_id} begins")
        if self.patience is not None:
            await self.patience.wait()
        if self.trouble is not None:
            raise self.trouble

    def ended(self, chat: Any, session: Any, turn_id: str) -> None:
        # It has ended for everybody.
        assert (chat.state.get("activeTurn") or {}).get("id") != turn_id
        self.log.append(f"{turn_id} ended")
        if self.trouble is not None:
            raise self.trouble


class Mover:
    """Gives a session another folder before its turn, or refuses to."""

    def __init__(self, host: Host, folder: Path) -> None:
        self._host, self._folder = host, folder
        self.trouble: Exception | None = None

    async def prepare(self, chat: Any, session: Any, tell: Callable[[str | None], None]) -> None:
        tell("Moving")
        if self.trouble is not None:
            raise self.trouble
        replaced = {
            "type": "session/workingDirectoryReplaced",
            "directory": session.state["workingDirectories"][0],
            "replacement": self._folder.as_uri(),
        }
        self._host.core.writer.apply(session, replaced)
        tell(None)


@asynccontextmanager
async def hooked(log: list[str]) -> AsyncIterator[tuple[Host, Looker, WireClient, str, Worker]]:
    """Run a host whose turns somebody looks on at, and a client at a chat of it."""
    agent, looker = Worker(log), Looker(log)
    async with Host([agent]) as host:
        host.core.turns.hooks.add_witness(looker)
        async with open_client(await host.listen(port=0)) as client:
            await client.initialize()
            chat = await client.ready_session(SESSION, provider="worker")
            await client.subscribe(chat)
            yield host, looker, client, chat, agent


async def test_a_witness_is_asked_before_the_agent_works_and_told_when_the_turn_is_over() -> None:
    log: list[str] = []
    async with hooked(log) as (_, _, client, chat, _):
        await client.run_turn(chat, "t1", "go")
        await client.run_turn(chat, "t2", "fail")
        await client.accepted(chat, {"type": "chat/turnResume", "turnId": "t2"})
        await client.action(chat, "chat/turnComplete", turnId="t2")
        await client.ping()
    told = [line.partition(" in ")[0] for line in log]
    first, second = (["t1 begins", "works", "t1 ended"], ["t2 begins", "works", "t2 ended"])
    assert told == first + second * 2


async def test_a_witness_is_told_of_a_turn_that_is_cancelled() -> None:
    log: list[str] = []
    async with hooked(log) as (_, looker, client, chat, _):
        looker.patience = asyncio.Event()
        await client.start_turn(chat, "t1", "go")
        await eventually(lambda: log == ["t1 begins"])
        await client.accepted(chat, {"type": "chat/turnCancelled", "turnId": "t1", "duration": 0})
        await client.ping()
        assert log == ["t1 begins", "t1 ended"]


async def test_a_turn_does_not_wait_for_a_witness_that_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turn_hooks, "WITNESS_PATIENCE", 0.01)
    log: list[str] = []
    async with hooked(log) as (_, looker, client, chat, _):
        looker.patience = asyncio.Event()
        await client.run_turn(chat, "t1", "go")
    assert [line.partition(" in ")[0] for line in log] == ["t1 begins", "works", "t1 ended"]


async def test_an_agent_starts_while_a_witness_looks_and_works_when_it_has_looked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turn_hooks, "WITNESS_PATIENCE", 60.0)
    log: list[str] = []
    async with hooked(log) as (_, looker, client, chat, agent):
        looker.patience, agent.may_start = asyncio.Event(), Flag()
        await client.start_turn(chat, "t1", "go")
        await eventually(lambda: log == ["t1 begins", "starts"])
        agent.may_start.set()
        # Its start is over when it has answered the next question.
        await client.request("resolveSessionConfig", provider="worker")
        await client.ping()
        assert log == ["t1 begins", "starts"]
        looker.patience.set()
        await client.turn_end(chat, "t1")
    assert [line.partition(" in ")[0] for line in log[2:]] == ["works", "t1 ended"]


async def test_a_witness_that_fails_fails_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    log: list[str] = []
    async with hooked(log) as (_, looker, client, chat, _):
        looker.trouble = RuntimeError("the disk is gone")
        assert (await client.start_turn(chat, "t1", "go")).get("rejectionReason") is None
        assert (await client.turn_end(chat, "t1"))["type"] == "chat/turnComplete"
        await client.run_turn(chat, "t2", "go")
    assert caplog.text.count("the disk is gone") == 4


async def test_an_agent_works_where_its_turn_was_prepared_for(tmp_path: Path) -> None:
    log: list[str] = []
    async with hooked(log) as (host, _, client, chat, _):
        host.core.turns.hooks.add_preparation(Mover(host, tmp_path))
        await client.run_turn(chat, "t1", "go")
    assert log[1] == f"works in {tmp_path}"


async def test_a_turn_that_cannot_be_prepared_says_why(tmp_path: Path) -> None:
    log: list[str] = []
    async with hooked(log) as (host, _, client, chat, _):
        mover = Mover(host, tmp_path)
        mover.trouble = AgentError("the branch does not exist", "noBranch")
        host.core.turns.hooks.add_preparation(mover)
        await client.start_turn(chat, "t1", "go")
        ended = await client.turn_end(chat, "t1")
        assert ended["part"]["error"]["message"] == "the branch does not exist"
        assert log == []
