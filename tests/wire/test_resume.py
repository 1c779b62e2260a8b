"""A turn that failed goes on: who may ask for it, what its agent is given, what everybody sees."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agenthost.agents import Agent, Turn
from agenthost.agents.api import AgentError, SessionContext
from agenthost.host import Host
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.protocol import SUPPORTED_VERSIONS
from tests.flags import Flag
from tests.wire.client import ROOT, WireClient, open_client, user_message
from tests.wire.hosting import embed, serve
from tests.wire.mirrors import assert_ascending, assert_mirrors, idle, texts

Json = dict[str, Any]
SESSION = "ahp-session:/s"


class Faltering(Agent):
    """Fails as often as its message says, then succeeds; remembers how far it came."""

    provider = "faltering"
    display_name = "Faltering"
    resumable = True

    def __init__(self) -> None:
        self.failures = 1
        self.may_fail = True
        # What each run was given.
        self.seen: list[tuple[bool, list[str], Any]] = []
        self.started_with: list[Any] = []
        self.may_go_on = Flag(is_set=True)
        self.asking: asyncio.Task[Any] | None = None

    async def start_session(self, session: SessionContext) -> None:
        self.started_with.append(session.resume_state)

    async def run(self, turn: Turn) -> None:
        kinds = [part["kind"] for part in turn.parts_so_far]
        self.seen.append((turn.is_resumed, kinds, turn.resume_state))
        before = (turn.resume_state or {}).get("legs", 0)
        turn.keep({"legs": before + 1})
        await turn.write(f"leg {before + 1}. ")
        if turn.text == "/ask" and not turn.is_resumed:
            self.asking = asyncio.create_task(turn.ask("Which?"))
        await self.may_go_on.wait()
        if self.failures:
            self.failures -= 1
            raise AgentError("out of breath", "tired", resumable=self.may_fail)


def resume(turn: str = "t1") -> Json:
    return {"type": "chat/turnResume", "turnId": turn}


def kinds_of(turn: Json) -> list[str]:
    return [part["kind"] for part in turn["responseParts"]]


@asynccontextmanager
async def following(url: str, *versions: str) -> AsyncIterator[tuple[list[WireClient], str]]:
    """One client of the newest version and those of others, in the one chat of a session."""
    async with AsyncExitStack() as stack:
        clients = []
        for number, version in enumerate((SUPPORTED_VERSIONS[0], *versions)):
            opening = open_client(url, f"c{number} {version}", version)
            clients.append(await stack.enter_async_context(opening))
            await clients[-1].initialize(ROOT)
        chat = await clients[0].ready_session(SESSION)
        for client in clients:
            await client.subscribe(SESSION)
            await client.subscribe(chat)
        yield clients, chat


@asynccontextmanager
async def returned(url: str, chat: str) -> AsyncIterator[WireClient]:
    """A client that comes to a chat after the host was started anew."""
    async with open_client(url, "later", SUPPORTED_VERSIONS[0]) as client:
        await client.initialize(chat)
        yield client


async def test_two_failures_and_a_success_are_one_turn() -> None:
    agent = Faltering()
    agent.failures = 2
    async with embed(agent) as url, following(url) as ((client,), chat):
        await client.run_turn(chat, "t1", "go")
        (failed,) = client.states[chat]["turns"]
        error = {"errorType": "tired", "message": "out of breath"}
        assert failed["state"] == "error"
        assert failed["responseParts"][-1] == {"kind": "error", "error": error, "resumable": True}
        await client.accepted(chat, resume())
        await client.until(lambda: {} if len(agent.seen) == 2 else None)
        (failed_again,) = (await idle(client, chat))["turns"]
        assert kinds_of(failed_again) == ["markdown", "error", "markdown", "error"]
        assert failed_again["duration"] >= failed["duration"]
        await client.accepted(chat, resume())
        await client.action(chat, "chat/turnComplete")
        (done,) = client.states[chat]["turns"]
        assert (done["id"], done["state"]) == ("t1", "complete")
        assert texts(done) == "leg 1. leg 2. leg 3. "
        assert done["duration"] >= failed_again["duration"]
        assert agent.seen == [
            (False, [], None),
            (True, ["markdown"], {"legs": 1}),
            (True, ["markdown", "markdown"], {"legs": 2}),
        ]
        await assert_mirrors(client)


async def test_only_the_latest_turn_that_failed_and_can_go_on_does() -> None:
    agent = Faltering()
    agent.failures = 0
    async with embed(agent) as url, following(url) as ((client,), chat):
        reason = "turn t1 is not the latest of this chat"
        assert await client.rejected(chat, resume()) == reason
        await client.run_turn(chat, "t1", "go")
        assert await client.rejected(chat, resume()) == "only a turn that failed can be resumed"
        agent.failures, agent.may_fail = 1, False
        await client.run_turn(chat, "t2", "go")
        last = client.states[chat]["turns"][-1]["responseParts"][-1]
        assert (last["kind"], "resumable" in last) == ("error", False)
        assert await client.rejected(chat, resume()) == reason
        refusal = await client.rejected(chat, resume("t2"))
        assert refusal == "the agent cannot take this turn up again"
        agent.failures, agent.may_fail = 1, True
        await client.run_turn(chat, "t3", "go")
        agent.may_go_on.clear()
        await client.accepted(chat, resume("t3"))
        refusal = await client.rejected(chat, resume("t3"))
        assert refusal == "a turn is already in progress in this chat"
        agent.may_go_on.set()
        await idle(client, chat)


async def test_of_two_clients_that_resume_at_once_one_does() -> None:
    agent = Faltering()
    async with embed(agent) as url, following(url, SUPPORTED_VERSIONS[0]) as (clients, chat):
        await clients[0].run_turn(chat, "t1", "go")
        await clients[1].turn_end(chat, "t1")
        agent.may_go_on.clear()
        sent = [await client.dispatch(chat, resume()) for client in clients]
        answers = [
            await client.envelope(
                chat,
                lambda e, own=(client.client_id, seq): (  # type: ignore[misc]
                    e.get("origin") == {"clientId": own[0], "clientSeq": own[1]}
                ),
            )
            for client, seq in zip(clients, sent, strict=True)
        ]
        assert sorted("rejectionReason" in answer for answer in answers) == [False, True]
        agent.may_go_on.set()
        for client in clients:
            await client.action(chat, "chat/turnComplete")
            await assert_mirrors(client)
        assert [resumed for resumed, _, _ in agent.seen] == [False, True]


async def test_the_queue_waits_for_a_turn_that_failed_and_goes_on_behind_it() -> None:
    agent = Faltering()
    queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
    async with embed(agent) as url, following(url) as ((client,), chat):
        agent.may_go_on.clear()
        await client.start_turn(chat, "t1", "go")
        await client.accepted(chat, {**queued, "message": user_message("next")})
        agent.may_go_on.set()
        await client.turn_end(chat, "t1")
        assert [item["id"] for item in client.states[chat]["queuedMessages"]] == ["q"]
        await client.accepted(chat, resume())
        await client.until(
            lambda: client.states[chat] if len(client.states[chat]["turns"]) == 2 else None
        )
        assert [turn["message"]["text"] for turn in client.states[chat]["turns"]] == ["go", "next"]


async def test_what_nobody_waits_for_any_more_is_closed_when_the_turn_goes_on() -> None:
    agent = Faltering()
    agent.may_go_on.clear()
    versions = ("0.8.0", "0.5.2", "0.5.0")
    async with embed(agent) as url, following(url, *versions) as (clients, chat):
        client = clients[0]
        await client.start_turn(chat, "t1", "/ask")
        asked = await client.action(chat, "chat/inputRequested")
        agent.may_go_on.set()
        await client.turn_end(chat, "t1")
        agent.may_go_on.clear()
        await client.accepted(chat, resume())
        closed = await client.action(chat, "chat/inputCompleted")
        assert closed["requestId"] == asked["request"]["id"]
        assert closed["response"] == "cancel"
        for each in clients:
            await each.ping()
            assert each.states[SESSION].get("inputNeeded", []) == []
            await assert_mirrors(each)
        agent.may_go_on.set()
        await client.action(chat, "chat/turnComplete")


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_every_version_sees_it_live_and_in_a_replay(version: str) -> None:
    agent = Faltering()
    async with embed(agent) as url, following(url, version) as (clients, chat):
        newest, stays = clients
        await newest.run_turn(chat, "t0", "go")
        await newest.accepted(chat, resume("t0"))
        await newest.action(chat, "chat/turnComplete")
        agent.failures = 1
        await newest.run_turn(chat, "t1", "go")
        await stays.turn_end(chat, "t1")
        async with open_client(url, "away", version) as former:
            await former.initialize(ROOT)
            await former.subscribe(SESSION)
            await former.subscribe(chat)
            former.abort()
        await newest.accepted(chat, resume("t1"))
        await idle(newest, chat)
        await newest.ping()
        await stays.ping()
        async with open_client(url, "away", version) as client:
            result = await client.resume(former)
            assert result["type"] == "replay"
            for follower in (newest, stays, client):
                assert_ascending(follower)
                await assert_mirrors(follower)
                assert [t["state"] for t in follower.states[chat]["turns"]] == ["complete"] * 2


@pytest.mark.parametrize("version", ["0.8.0", "0.6.0", "0.5.0"])
async def test_who_was_cut_off_while_the_turn_was_told_anew_is_told_the_rest(version: str) -> None:
    agent = Faltering()
    async with embed(agent) as url, following(url) as ((newest,), chat):
        await newest.run_turn(chat, "t1", "go")
        async with open_client(url, "cut", version) as former:
            await former.initialize(ROOT)
            await former.subscribe(chat)
            former.drop_when = lambda message: (
                (message.get("params") or {}).get("action", {}).get("type") == "chat/turnStarted"
            )
            agent.may_go_on.clear()
            await newest.accepted(chat, resume())
            await former.closed
        assert [e["action"]["type"] for e in former.envelopes[chat]] == [
            "chat/truncated",
            "chat/turnStarted",
        ]
        async with open_client(url, "cut", version) as client:
            result = await client.resume(former)
            assert result["type"] == "replay"
            assert result["actions"][0]["action"]["type"] == "chat/responsePart"
            agent.may_go_on.set()
            await idle(client, chat)
            await client.ping()
            assert_ascending(client)
            await assert_mirrors(client)


def is_complete(chat: Json, turn_id: str) -> Json | None:
    """Return the last turn of a chat once it is the one that is waited for, and complete."""
    last: Json = chat["turns"][-1] if chat["turns"] else {}
    return last if (last.get("id"), last.get("state")) == (turn_id, "complete") else None


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_who_was_shown_only_the_end_holds_what_goes_on(version: str) -> None:
    agent = Faltering()
    agent.failures = 0
    async with embed(agent) as url, following(url) as ((newest,), chat):
        for turn in ("t1", "t2", "t3"):
            await newest.run_turn(chat, turn, "go")
        agent.failures = 1
        await newest.run_turn(chat, "t4", "go")
        async with open_client(url, "window", version) as client:
            await client.initialize()
            shown = await client.subscribe(chat, view={"turns": 0})
            await newest.accepted(chat, resume("t4"))
            await newest.until(lambda: is_complete(newest.states[chat], "t4"))
            await newest.ping()
            await client.ping()
            held = [turn["id"] for turn in client.states[chat]["turns"]]
            if shown["turns"]:
                # An old version has no windows.
                assert held == ["t1", "t2", "t3", "t4"]
            else:
                assert held == ["t3", "t4"]
            assert client.states[chat]["turns"][-1]["state"] == "complete"
            assert "activeTurn" not in client.states[chat]


async def test_a_turn_goes_on_after_a_restart_with_what_its_agent_kept() -> None:
    backing, agent = MemoryBacking(), Faltering()
    async with embed(agent, store=MemoryStore(backing)) as url, following(url) as (clients, chat):
        client = clients[0]
        await client.run_turn(chat, "t1", "go")
    again = Faltering()
    again.failures = 0
    async with embed(again, store=MemoryStore(backing)) as url, returned(url, chat) as client:
        await client.accepted(chat, resume())
        await client.action(chat, "chat/turnComplete")
        (turn,) = client.states[chat]["turns"]
        assert texts(turn) == "leg 1. leg 2. "
        assert again.started_with == [{"legs": 1}]
        assert again.seen == [(True, ["markdown"], {"legs": 1})]
        # It is nobody's but the agent's.
        assert "legs" not in str(client.received)


async def test_a_turn_that_a_crash_or_a_stop_ended_goes_on() -> None:
    backing, agent = MemoryBacking(), Faltering()
    agent.failures = 0
    async with embed(agent, store=MemoryStore(backing)) as url, following(url) as (clients, chat):
        client = clients[0]
        agent.may_go_on.clear()
        await client.start_turn(chat, "t1", "go")
        await client.action(chat, "chat/delta")
        await client.ping()
        crashed = copy.copy(backing)
        crashed.channels, crashed.records = copy.deepcopy((backing.channels, backing.records))
        crashed.crash()
    for store, error_type in ((crashed, "hostRestarted"), (backing, "hostStopped")):
        again = Faltering()
        again.failures = 0
        async with embed(again, store=MemoryStore(store)) as url, returned(url, chat) as client:
            last = client.states[chat]["turns"][-1]["responseParts"][-1]
            assert (last["error"]["errorType"], last["resumable"]) == (error_type, True)
            await client.accepted(chat, resume())
            await client.action(chat, "chat/turnComplete")
            assert again.seen[0][0]


async def test_what_an_agent_kept_goes_with_the_session() -> None:
    async with (
        Host([Faltering()]) as host,
        following(await host.listen(port=0)) as (clients, chat),
    ):
        client = clients[0]
        await client.run_turn(chat, "t1", "go")
        await stored(host, is_there=True)
        await client.request("disposeSession", channel=SESSION)
        await stored(host, is_there=False)


async def stored(host: Host, *, is_there: bool) -> None:
    """Wait until something is kept for an agent, or nothing is any more."""
    async with asyncio.timeout(60):
        while bool(await host.core.store.records("resume")) is not is_there:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


class Overseer(Faltering):
    """Lets a worker fail that could go on."""

    async def run(self, turn: Turn) -> None:
        if turn.text == "work":
            raise AgentError("out of breath", "tired", resumable=True)
        async with turn.tool("worker") as call:
            await call.delegate("work", title="W")


async def test_a_worker_whose_call_is_over_does_not_go_on() -> None:
    async with embed(Overseer()) as url, following(url) as (clients, chat):
        client = clients[0]
        await client.run_turn(chat, "t1", "go")
        _, worker = client.states[SESSION]["chats"]
        state = await client.subscribe(worker["resource"])
        (turn,) = state["turns"]
        assert turn["state"] == "error"
        assert "resumable" not in turn["responseParts"][-1]
        refused = await client.rejected(worker["resource"], resume(turn["id"]))
        assert refused == "this chat is read-only: its turns are not resumed"


async def test_who_must_sign_in_is_told_so_with_all_that_it_takes() -> None:
    agent = Faltering()
    async with embed(agent) as url, following(url, "0.7.0") as (clients, chat):
        client, older = clients
        await client.run_turn(chat, "t1", "go")
        resource = {"resource": "https://r.example", "authorization_servers": ["https://a.example"]}
        agent.protected_resources = [resource]
        refused = await client.rejected(chat, resume())
        assert refused == "the agent needs you to sign in first"
        asked = await client.notification("auth/required", lambda _: True)
        assert (asked["resource"], asked["reason"]) == (resource, "required")
        # Older versions are told which resource it is, and look it up.
        await older.rejected(chat, older.turn_started("t2", "go"))
        asked = await older.notification("auth/required", lambda _: True)
        assert asked["resource"] == "https://r.example"
        agent.protected_resources = []
        await client.accepted(chat, resume())
        await client.action(chat, "chat/turnComplete")


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_a_restart_in_between_tells_the_same(version: str) -> None:
    backing, agent = MemoryBacking(), Faltering()
    async with embed(agent, store=MemoryStore(backing)) as url, following(url) as (clients, chat):
        newest = clients[0]
        await newest.run_turn(chat, "t1", "go")
        async with open_client(url, "away", version) as former:
            await former.initialize()
            await former.subscribe(chat)
            former.abort()
        await newest.accepted(chat, resume())
        await newest.action(chat, "chat/turnComplete")
    async with (
        embed(Faltering(), store=MemoryStore(backing)) as url,
        open_client(url, "away", version) as client,
    ):
        result = await client.resume(former)
        assert result["type"] == "replay"
        assert_ascending(client)
        await assert_mirrors(client)
        assert [turn["state"] for turn in client.states[chat]["turns"]] == ["complete"]


async def test_a_turn_goes_on_after_its_host_was_killed(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host:
        async with following(host.url) as (clients, chat):
            await clients[0].run_turn(chat, "t1", "/fail resumable")
        await host.kill()
        await host.start()
        async with returned(host.url, chat) as client:
            await client.accepted(chat, resume())
            await client.action(chat, "chat/turnComplete")
            (turn,) = client.states[chat]["turns"]
            assert (turn["id"], turn["state"]) == ("t1", "complete")
            await assert_mirrors(client)
