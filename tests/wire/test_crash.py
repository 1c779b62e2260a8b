"""The host dies in the middle of a turn and comes back: whatever anybody saw is still true."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.wire.client import ROOT, WireClient, open_client, user_message
from tests.wire.hosting import ServedHost, serve
from tests.wire.mirrors import assert_ascending, assert_mirrors, idle, texts
from tests.wire.wording import failure_of

Json = dict[str, Any]
VERSIONS = ("1.0.0", "0.9.0", "0.8.0", "0.7.0", "0.5.0")
SESSION = "ahp-session:/s1"
ANNOTATIONS = f"{SESSION}/annotations"

ANNOTATION = {
    "id": "a1",
    # As 0.8.0 says it.
    "turnId": "t1",
    "resource": "file:///x",
    "resolved": False,
    "entries": [{"id": "e1", "text": "look here"}],
}
QUEUED = {
    "type": "chat/pendingMessageSet",
    "kind": "queued",
    "id": "q1",
    "message": user_message("hello from the queue"),
}


async def gather_clients(host: ServedHost, stack: AsyncExitStack) -> tuple[list[WireClient], str]:
    """Open a client of each version that follows all channels of one session."""
    clients = []
    for version in VERSIONS:
        client = await stack.enter_async_context(open_client(host.url, f"c{version}", version))
        await client.initialize(ROOT)
        clients.append(client)
    chat = await clients[0].ready_session(SESSION)
    for client in clients:
        for channel in (SESSION, chat, ANNOTATIONS):
            await client.subscribe(channel)
    return clients, chat


async def crash_in_a_stream(host: ServedHost) -> tuple[list[WireClient], str]:
    """Kill the host while all clients watch a turn; return what they held then."""
    async with AsyncExitStack() as stack:
        clients, chat = await gather_clients(host, stack)
        newest, middle, oldest = clients[0], clients[2], clients[-1]
        await oldest.run_turn(chat, "t0", "hello")
        await newest.start_turn(chat, "t1", "/stream 1000000")
        await middle.dispatched(ANNOTATIONS, {"type": "annotations/set", "annotation": ANNOTATION})
        await oldest.dispatched(chat, QUEUED)
        for client in clients:
            await client.action(ANNOTATIONS, "annotations/set")
            await client.action(chat, "chat/pendingMessageSet")
            await text_arrives(client, chat, 10_000)
        await host.kill()
        for client in clients:
            assert (await client.closed)[0] == 1006
    return clients, chat


async def text_arrives(client: WireClient, chat: str, length: int) -> None:
    """Wait until the chat's turn has so much text."""

    def found() -> Json | None:
        active: Json | None = client.states[chat].get("activeTurn")
        return active if active is not None and len(texts(active)) >= length else None

    await client.until(found)


async def test_nothing_that_anybody_saw_is_lost_when_the_host_is_killed(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host:
        before, chat = await crash_in_a_stream(host)
        first_address = host.address
        await host.start()
        assert host.address != first_address
        async with AsyncExitStack() as stack:
            after = []
            for former in before:
                opened = open_client(host.url, former.client_id, former.version)
                client = await stack.enter_async_context(opened)
                await client.resume(former)
                check_nothing_lost(former, client, chat)
                await assert_mirrors(client)
                after.append(client)
            await check_that_life_goes_on(before, after, chat)


def check_nothing_lost(former: WireClient, client: WireClient, chat: str) -> None:
    state = client.states[chat]
    assert state["turns"][0] == former.states[chat]["turns"][0]
    turn = state["turns"][1]
    assert turn["id"] == "t1"
    assert turn["state"] == "error"
    assert failure_of(turn)["errorType"] == "hostRestarted"
    assert texts(turn).startswith(texts(former.states[chat]["activeTurn"]))
    assert "activeTurn" not in state
    assert [message["id"] for message in state["queuedMessages"]] == ["q1"]
    assert client.states[ANNOTATIONS] == former.states[ANNOTATIONS]


async def check_that_life_goes_on(
    before: list[WireClient], after: list[WireClient], chat: str
) -> None:
    """The next turn runs, then the queued one; everybody sees both, numbered above all before."""
    seen = max(client.last_seen for client in before)
    await after[2].run_turn(chat, "t2", "are you there?")
    for client in after:
        await queue_runs(client, chat)
        await idle(client, chat)
        assert_ascending(client)
        live = [m["params"] for m in client.received if m.get("method") == "action"]
        assert min(envelope["serverSeq"] for envelope in live) > seen
        await assert_mirrors(client)


async def queue_runs(client: WireClient, chat: str) -> None:
    """Wait until the queued message was taken up and answered."""

    def found() -> Json | None:
        state = client.states[chat]
        return state if len(state["turns"]) == 4 and "queuedMessages" not in state else None

    await client.until(found)


async def test_a_crash_does_not_make_the_host_forget_what_was_streamed_before_it(
    tmp_path: Path,
) -> None:
    """A client that was away across a crash is replayed to, although the numbers have a gap."""
    (tmp_path / "pausing.py").write_text(PAUSING_AGENT)
    async with serve(tmp_path / "data", "--agent", "pausing:Pausing", cwd=tmp_path) as host:
        async with open_client(host.url) as former:
            await former.initialize(ROOT)
            chat = await former.ready_session(SESSION)
            await former.subscribe(chat)
        async with open_client(host.url, "other") as other:
            await other.initialize()
            await other.subscribe(chat)
            await other.start_turn(chat, "t1", "talk, then wait")
            await text_arrives(other, chat, 2000)
        await host.kill()
        await host.start()
        async with open_client(host.url) as client:
            assert (await client.resume(former))["type"] == "replay"
            assert client.states[chat]["turns"][0]["state"] == "error"
            assert texts(client.states[chat]["turns"][0]) == "x" * 2000
            await assert_mirrors(client)


PAUSING_AGENT = """
import asyncio

from agenthost.agents import Agent


class Pausing(Agent):
    provider, display_name = "pausing", "Pausing"

    async def run(self, turn):
        for _ in range(2000):
            await turn.write("x")
        await asyncio.Event().wait()
"""


async def test_a_host_killed_again_and_again_numbers_everything_upwards(tmp_path: Path) -> None:
    async with serve(tmp_path / "data") as host:
        async with open_client(host.url) as former:
            await former.initialize(ROOT)
            chat = await former.ready_session(SESSION)
            await former.subscribe(chat)
        for round in range(3):
            await host.kill()
            await host.start()
            async with open_client(host.url) as client:
                assert (await client.resume(former))["type"] == "replay"
                await client.run_turn(chat, f"t{round}", "hello")
                assert client.envelopes[chat][-1]["serverSeq"] > former.last_seen
                assert_ascending(client)
                await assert_mirrors(client)
            former = client
        assert [turn["id"] for turn in former.states[chat]["turns"]] == ["t0", "t1", "t2"]


async def test_the_first_client_after_a_crash_can_be_replayed_to(tmp_path: Path) -> None:
    """Nothing has happened since the crash when it comes, so it has no number of its own run."""
    async with serve(tmp_path / "data") as host:
        async with open_client(host.url, "before") as before:
            await before.initialize()
            chat = await before.ready_session(SESSION)
        await host.kill()
        await host.start()
        async with open_client(host.url) as former:
            await former.initialize(ROOT)
            await former.subscribe(chat)
        async with open_client(host.url) as client:
            assert (await client.resume(former))["type"] == "replay"
            await client.run_turn(chat, "t1", "hello")
            await assert_mirrors(client)


async def test_a_turn_whose_agent_was_starting_in_a_crash_ends_with_the_reason(
    tmp_path: Path,
) -> None:
    """Its agent is slow to start, so the host dies in between; nobody waits for ever."""
    (tmp_path / "sleepy.py").write_text(SLEEPY_AGENT)
    async with serve(tmp_path / "data", "--agent", "sleepy:Sleepy", cwd=tmp_path) as host:
        async with open_client(host.url) as former:
            await former.initialize(ROOT)
            chat = await former.ready_session(SESSION, provider="sleepy")
            await former.subscribe(chat)
            await former.start_turn(chat, "t1", "hello")
        await host.kill()
        await host.start()
        async with open_client(host.url) as client:
            await client.resume(former)
            (turn,) = client.states[chat]["turns"]
            assert failure_of(turn)["errorType"] == "hostRestarted"
            await assert_mirrors(client)


SLEEPY_AGENT = """
import asyncio

from agenthost.agents import Agent


class Sleepy(Agent):
    provider, display_name = "sleepy", "Sleepy"

    async def start_session(self, session):
        await asyncio.Event().wait()

    async def run(self, turn):
        pass
"""
