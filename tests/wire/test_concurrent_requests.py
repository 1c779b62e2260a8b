"""Agents work beside the host: what one of them does to its own thread is nobody else's affair."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.agents.api import SessionContext
from agenthost.agents.demo import Demo
from agenthost.host import Host
from agenthost.host.store import MemoryStore, Write
from agenthost.host.turns import agent_loops as loops_module
from agenthost.host.turns import runner as turns
from agenthost.host.turns import silence
from agenthost.host.turns.agent_port import WINDOW
from agenthost.host.turns.running_turn import MOST_UNSTORED
from tests.flags import PATIENCE, Flag, eventually
from tests.wire.client import open_client
from tests.wire.hosting import embed
from tests.wire.parking import Parker
from tests.wire.talking import (
    Chat,
    at_chat,
    call_in,
    completed,
    confirmed,
    request_in,
    result_confirmed,
    said,
)
from tests.wire.wording import failure_of

Json = dict[str, Any]

# More than may be under way.
WORDS = 5_000


class Blocker(Agent):
    """Blocks its thread wherever it is told to, until it is let go."""

    provider, display_name = "blocker", "Blocker"

    def __init__(self, where: str = "run") -> None:
        self._where = where
        self.blocked = Flag()
        # Whether nobody let it go before it gave up.
        self.forgotten = False
        self._release = threading.Event()

    def release(self) -> None:
        self._release.set()

    def _block(self, where: str) -> None:
        if where == self._where:
            self.blocked.set()
            self.forgotten = not self._release.wait(PATIENCE)

    async def run(self, turn: Turn) -> None:
        if turn.text == "hello":
            await turn.write("hello yourself")
            return
        await turn.write("before ")
        self._block("run")
        await turn.write("after")

    async def start_session(self, session: SessionContext) -> None:
        self._block("start_session")

    async def end_session(self, session: str) -> None:
        self._block("end_session")

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        self._block("config_schema")
        return super().config_schema(values, working_directory)


async def test_an_agent_that_blocks_holds_up_nobody_else() -> None:
    blocker = Blocker()
    async with (
        embed(blocker, Demo()) as url,
        at_chat(url, "blocked", provider="blocker") as blocked,
        at_chat(url, "free", provider="demo") as free,
    ):
        try:
            await blocked.start("t1", "go")
            await blocker.blocked.wait()
            # What it wrote before has left, and everything else goes on.
            await blocked.client.action(blocked.uri, "chat/delta", content="before ")
            await blocked.client.ping()
            assert said(await free.run("t1", "hello")).startswith("You said")
        finally:
            blocker.release()
        assert said(await blocked.end("t1")) == "before after"
        assert not blocker.forgotten


async def test_cancelling_ends_the_turn_of_an_agent_that_blocks_at_once() -> None:
    blocker = Blocker()
    async with embed(blocker) as url, at_chat(url, "cancelled") as chat:
        try:
            await chat.start("t1", "go")
            await blocker.blocked.wait()
            await chat.cancel("t1", chat.client)
            turn = await chat.end("t1")
            assert turn["state"] == "cancelled"
        finally:
            blocker.release()
        # What it says when it is free again is not heard.
        assert said(await chat.run("t2", "hello")) == "hello yourself"
        assert said(chat.state["turns"][0]) == "before "
        assert not blocker.forgotten
        await chat.assert_at_rest()


@pytest.mark.parametrize("where", ["start_session", "end_session"])
async def test_wherever_an_agent_blocks_others_are_answered(where: str) -> None:
    blocker = Blocker(where)
    async with (
        embed(Demo(), blocker) as url,
        at_chat(url, "held", provider="blocker") as held,
        at_chat(url, "free", provider="demo") as free,
    ):
        try:
            await held.start("t1", "hello")
            if where == "end_session":
                await held.end("t1")
                await held.client.request("disposeSession", channel=held.session)
            await blocker.blocked.wait()
            await held.client.ping()
            assert said(await free.run("t1", "hello")).startswith("You said")
        finally:
            blocker.release()
    assert not blocker.forgotten


async def test_who_asks_an_agent_that_blocks_is_told_that_it_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops_module, "ANSWER_PATIENCE", 0.1)
    blocker = Blocker("config_schema")
    async with embed(blocker) as url, open_client(url) as client:
        await client.initialize()
        try:
            refused = await client.refusal("resolveSessionConfig", provider="blocker")
            assert "does not answer" in str(refused)
        finally:
            blocker.release()
    assert not blocker.forgotten


class Leaving(Agent):
    """Raises what ends a process, in its turn or in a task beside it."""

    provider, display_name = "leaving", "Leaving"

    async def run(self, turn: Turn) -> None:
        await turn.write("so far so good")
        match turn.text:
            case "interrupt":
                raise KeyboardInterrupt
            case "exit":
                sys.exit(3)
            case "in a task":
                await asyncio.gather(self._leave())
            case "in a callback":
                asyncio.get_running_loop().call_soon(sys.exit, 3)

    async def _leave(self) -> None:
        await asyncio.sleep(0)
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("interrupt", "KeyboardInterrupt"),
        ("exit", "SystemExit"),
        ("in a task", "KeyboardInterrupt"),
        ("in a callback", None),
    ],
)
async def test_what_would_end_a_process_ends_a_turn_at_most(text: str, error: str | None) -> None:
    async with embed(Leaving()) as url, at_chat(url, "leaving") as chat:
        turn = await chat.run("t1", text)
        assert failure_of(turn).get("errorType") == error
        assert said(turn) == "so far so good"
        assert said(await chat.run("t2", "hello")) == "so far so good"
        await chat.assert_at_rest()


class Waiting(Agent):
    """Waits for what never comes, in several ways."""

    provider, display_name = "waiting", "Waiting"

    async def run(self, turn: Turn) -> None:
        match turn.text:
            case "for nothing":
                await turn.write("I wait")
                await asyncio.Event().wait()
            case "for people":
                await turn.write(str(await turn.ask("Anybody?")))
            case "for a tool":
                async with turn.tool("t") as call:
                    await call.start()
                    await turn.next_steering()
            case "blocked":
                threading.Event().wait(PATIENCE)


async def test_a_turn_in_which_nothing_happens_ends_with_a_reason() -> None:
    async with AsyncExitStack() as stack:
        # Long enough for an agent's first word on a machine that is busy.
        url = await stack.enter_async_context(embed(Waiting(), silence_limit=1.0))
        asking, calling, waiting = [
            await stack.enter_async_context(at_chat(url, name)) for name in ("a", "b", "c")
        ]
        await asking.start("t1", "for people")
        request = await request_in(asking.client, asking.uri)
        await calling.start("t1", "for a tool")
        await call_in(calling.client, calling.uri, "running")
        # Longer than the limit, while somebody is asked elsewhere, and something runs.
        for number in range(2):
            turn = await waiting.run(f"t{number}", "for nothing")
            assert (turn["state"], failure_of(turn)["errorType"]) == ("error", "idle")
            assert failure_of(turn)["message"] == (
                "nothing happened in this turn for 1 seconds, so it was given up"
            )
            assert said(turn) == "I wait"
        answer = {"type": "chat/inputCompleted", "requestId": request["id"], "response": "decline"}
        await asking.answer(answer)
        assert said(await asking.end("t1")) == "None"
        assert calling.state["activeTurn"]["id"] == "t1"


async def test_an_agent_that_never_comes_back_is_given_up_too() -> None:
    blocker = Blocker()
    async with embed(blocker, silence_limit=0.2) as url, at_chat(url, "stuck") as chat:
        try:
            turn = await chat.run("t1", "go")
            assert failure_of(turn)["errorType"] == "idle"
        finally:
            blocker.release()


class Alarm:
    """What rings at a time, unless it is cancelled."""

    def __init__(self, at: float, ring: Callable[[], None]) -> None:
        self.at, self.ring, self.cancelled = at, ring, False

    def cancel(self) -> None:
        self.cancelled = True


class SilenceClock:
    """The time by which turns are silent, for the length of a test: it passes when that says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now = 0.0
        self._alarms: list[Alarm] = []
        here = SimpleNamespace(get_running_loop=lambda: self)
        monkeypatch.setattr(silence, "asyncio", here)

    def call_later(self, delay: float, ring: Callable[[], None]) -> Alarm:
        alarm = Alarm(self._now + delay, ring)
        self._alarms.append(alarm)
        return alarm

    def advance(self, seconds: float) -> None:
        """Let time pass, in which nothing else happens."""
        end = self._now + seconds
        while due := [each for each in self._alarms if each.at <= end and not each.cancelled]:
            alarm = min(due, key=lambda each: each.at)
            self._alarms.remove(alarm)
            self._now = alarm.at
            alarm.ring()
        self._now = end


# Seconds of that clock, after which a turn is given up.
SILENCE = 100.0


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        ("pending-confirmation", lambda call: confirmed("t1", call, False)),
        ("pending-result-confirmation", lambda call: result_confirmed("t1", call, True)),
        ("auth-required", lambda call: completed("t1", call, False)),
    ],
    ids=["pending-confirmation", "pending-result-confirmation", "auth-required"],
)
async def test_a_turn_that_waits_for_people_is_given_up_only_after_they_have_answered(
    status: str, answer: Callable[[Json], Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SilenceClock(monkeypatch)
    async with (
        embed(Parker(), silence_limit=SILENCE) as url,
        at_chat(url, "waiting") as waiting,
        at_chat(url, "silent") as silent,
    ):
        await waiting.start("t1", status)
        await call_in(waiting.client, waiting.uri, status)
        # Only its agent can do anything about this one.
        await silent.start("t1", "streaming")
        await call_in(silent.client, silent.uri, "streaming")
        clock.advance(1000 * SILENCE)
        assert failure_of(await silent.end("t1"))["errorType"] == "idle"
        await waiting.client.ping()
        call = await call_in(waiting.client, waiting.uri, status)
        await waiting.answer(answer(call))
        clock.advance(2 * SILENCE)
        assert failure_of(await waiting.end("t1"))["errorType"] == "idle"


class Murmuring(Agent):
    """Writes a word whenever it is told to."""

    provider, display_name = "murmuring", "Murmuring"

    def __init__(self) -> None:
        self.go_on = Flag()

    async def run(self, turn: Turn) -> None:
        while True:
            await self.go_on.wait()
            self.go_on.clear()
            await turn.write("word ")


async def heard(chat: Chat, text: str) -> None:
    """Wait until the running turn says this."""
    await chat.client.until(lambda: chat.state if said(chat.state["activeTurn"]) == text else None)


async def test_a_turn_is_given_up_for_one_long_silence_and_not_for_many_short_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, agent = SilenceClock(monkeypatch), Murmuring()
    async with embed(agent, silence_limit=SILENCE) as url, at_chat(url, "murmuring") as chat:
        await chat.start("t1", "go")
        for words in range(1, 11):
            agent.go_on.set()
            await heard(chat, "word " * words)
            clock.advance(SILENCE - 1)
        await chat.client.ping()
        assert chat.state["activeTurn"]["id"] == "t1"
        clock.advance(1 + SILENCE / silence.LOOKS)
        turn = await chat.end("t1")
        assert (failure_of(turn)["errorType"], said(turn)) == ("idle", "word " * 10)


class Stalled(MemoryStore):
    """Makes nothing durable until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.stalled = False
        self._held: list[asyncio.Future[None]] = []

    def write(self, *writes: Write) -> asyncio.Future[None]:
        written = super().write(*writes)
        if not self.stalled:
            return written
        held: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held.append(held)
        return held

    def go_on(self) -> None:
        self.stalled = False
        for held in self._held:
            held.set_result(None)


class Flood(Agent):
    """Writes on and on, and counts."""

    provider, display_name = "flood", "Flood"

    def __init__(self) -> None:
        self.written = 0

    async def run(self, turn: Turn) -> None:
        for _ in range(WORDS):
            await turn.write("word ")
            self.written += 1


async def test_an_agent_that_is_faster_than_the_disk_waits_for_it() -> None:
    store, agent = Stalled(), Flood()
    async with embed(agent, store=store) as url, at_chat(url, "flood") as chat:
        store.stalled = True
        try:
            await chat.client.dispatch(chat.uri, chat.client.turn_started("t1", "go"))
            await eventually(lambda: agent.written >= WINDOW // 2)
            # The host goes on, and the agent gets no further.
            for _ in range(50):
                await asyncio.sleep(0.002)
            assert agent.written <= 2 * (WINDOW + MOST_UNSTORED)
        finally:
            store.go_on()
        assert said(await chat.end("t1")) == "word " * WORDS


class Reading(Agent):
    """Looks at what it has just done, without waiting for anything."""

    provider, display_name = "reading", "Reading"

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def run(self, turn: Turn) -> None:
        call = turn.tool("t")
        await call.__aenter__()
        self.seen.append(call.status)
        call._ready("{}", None, confirmed="not-needed")
        self.seen.append(call.status)
        await call.complete("done")
        self.seen.append(call.status)


async def test_an_agent_finds_what_it_has_just_done() -> None:
    agent = Reading()
    async with embed(agent) as url, at_chat(url, "reading") as chat:
        await chat.run("t1", "go")
        assert agent.seen == ["streaming", "running", "completed"]


class Tidy(Agent):
    """Takes its time to clean up, and says what it was asked."""

    provider, display_name = "tidy", "Tidy"

    def __init__(self) -> None:
        self.log: list[str] = []
        self.cleaning, self.may_end = Flag(), Flag()

    async def run(self, turn: Turn) -> None:
        self.log.append(turn.text)
        try:
            await asyncio.Event().wait()
        finally:
            self.cleaning.set()
            await self.may_end.wait()
            self.log.append("let go")

    async def close(self) -> None:
        self.log.append("closed")


async def test_a_host_that_stops_waits_for_its_agents_and_begins_nothing_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "CANCEL_GRACE", PATIENCE)
    agent = Tidy()
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(Host([agent]))
        url = await host.listen(port=0)
        async with at_chat(url, "old") as old, at_chat(url, "new") as new:
            await old.start("t1", "work")
            await eventually(lambda: agent.log == ["work"])
            closing = asyncio.create_task(stack.aclose())
            await agent.cleaning.wait()
            late = await new.run("t1", "more work")
            assert failure_of(late)["errorType"] == "hostStopped"
            assert not closing.done()
            agent.may_end.set()
            await closing
    assert agent.log == ["work", "let go", "closed"]


async def test_a_host_in_a_hurry_does_not_wait_for_its_agents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "CANCEL_GRACE", 3600.0)
    agent = Tidy()
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(Host([agent]))
        url = await host.listen(port=0)
        async with at_chat(url, "old") as chat, asyncio.timeout(PATIENCE):
            await chat.start("t1", "work")
            await eventually(lambda: agent.log == ["work"])
            closing = asyncio.create_task(stack.aclose())
            await agent.cleaning.wait()
            host.hurry()
            await closing
            assert failure_of(await chat.end("t1"))["errorType"] == "hostStopped"
    agent.may_end.set()
