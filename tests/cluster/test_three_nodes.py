"""Three nodes on three servers, seen by clients of three versions: one host, whoever dies."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.servers import Servers, three_servers
from tests.wire.client import ROOT, WireClient, WireFailure, open_client
from tests.wire.hosting import ServedHost
from tests.wire.mirrors import assert_ascending, assert_mirrors, idle, texts
from tests.wire.talking import call_in, confirmed

pytestmark = pytest.mark.timeout(300)

VERSIONS = ("1.0.0", "0.8.0", "0.6.0")
NAMES = ("a", "b", "c")
PATIENCE = 60.0

Json = dict[str, Any]


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    (tmp_path / "nats").mkdir()
    async with three_servers(tmp_path / "nats") as started:
        yield started


def node(servers: Servers, folder: Path, name: str, *options: str) -> ServedHost:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    return ServedHost(
        folder / name, "--cluster", ",".join(servers.urls), "--node", name, "--root", str(work),
        "--drain-seconds", "5", *options,
    )  # fmt: skip


@pytest.fixture
async def nodes(servers: Servers, tmp_path: Path) -> AsyncIterator[list[ServedHost]]:
    made = [node(servers, tmp_path, name) for name in NAMES]
    try:
        await asyncio.gather(*(each.start() for each in made))
        yield made
    finally:
        await asyncio.gather(*(each.kill() for each in made))


@asynccontextmanager
async def company(
    nodes: list[ServedHost], session: str, folder: Path
) -> AsyncIterator[tuple[list[WireClient], str]]:
    """A client of each version at each node, in one chat that the first has made."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(open_client(host.url, f"client {version}", version))
            for host, version in zip(nodes, VERSIONS, strict=True)
        ]
        for client in clients:
            await client.initialize(ROOT)
            await until_all_are_known(client)
        work = [(folder / "work").as_uri()]
        chat = await clients[0].ready_session(session, workingDirectories=work)
        for client in clients:
            for channel in (session, chat):
                await follow(client, channel)
        yield clients, chat


async def follow(client: WireClient, channel: str) -> None:
    """Subscribe to what another node may have heard of a moment earlier."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await client.subscribe(channel)
                return
            except WireFailure:
                await asyncio.sleep(0.05)


async def listed(client: WireClient) -> dict[str, Json]:
    items = (await client.request("agenthost/listNodes"))["items"]
    return {item["node"]: item for item in items}


async def until_all_are_known(client: WireClient) -> None:
    """Wait until a client's node has heard of the others, which are told of by their beats."""
    async with asyncio.timeout(PATIENCE):
        while set(await listed(client)) != set(NAMES):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def until_owning(client: WireClient, name: str, sessions: int) -> Json:
    """Wait until a node says that it owns so many; it says so with its beats."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = (await listed(client))[name]
            if found["sessions"] == sessions:
                return found
            await asyncio.sleep(0.02)


def host_of(nodes: list[ServedHost], name: str) -> ServedHost:
    return nodes[NAMES.index(name)]


async def owner_of(client: WireClient, nodes: list[ServedHost]) -> ServedHost:
    """Return the node that owns the one session that there is."""

    async with asyncio.timeout(PATIENCE):
        while True:
            owners = [name for name, each in (await listed(client)).items() if each["sessions"]]
            if len(owners) == 1:
                return host_of(nodes, owners[0])
            await asyncio.sleep(0.1)


async def said_to_all(clients: list[WireClient], chat: str, turn: str, text: str) -> None:
    envelope = await clients[0].start_turn(chat, turn, text)
    assert "rejectionReason" not in envelope, envelope
    for client in clients:
        await client.turn_end(chat, turn)


async def test_clients_of_three_versions_on_three_nodes_share_a_chat(
    nodes: list[ServedHost], tmp_path: Path
) -> None:
    async with company(nodes, "ahp-session:/three", tmp_path) as (clients, chat):
        await said_to_all(clients, chat, "t1", "hello")
        # Whoever speaks: all hear it.
        for number, client in enumerate(clients, start=2):
            await client.start_turn(chat, f"t{number}", "again")
            for each in clients:
                await each.turn_end(chat, f"t{number}")
        for client in clients:
            await idle(client, chat)
            await assert_mirrors(client)
            assert_ascending(client)
        newest = clients[0].states[chat]["turns"]
        assert [turn["id"] for turn in newest] == ["t1", "t2", "t3", "t4"]
        for client in clients[1:]:
            assert [texts(turn) for turn in client.states[chat]["turns"]] == [
                texts(turn) for turn in newest
            ]


async def test_who_is_asked_on_one_node_is_answered_from_a_third(
    nodes: list[ServedHost], tmp_path: Path
) -> None:
    async with company(nodes, "ahp-session:/ask", tmp_path) as (clients, chat):
        await clients[0].request("agenthost/moveSession", channel="ahp-session:/ask", node="b")
        assert await owner_of(clients[0], nodes) is host_of(nodes, "b")
        # Asked for at a, asked by b, answered at c.
        envelope = await clients[0].start_turn(chat, "t1", "/run echo hello")
        assert "rejectionReason" not in envelope, envelope
        for client in clients:
            call = await call_in(client, chat, "pending-confirmation")
        await clients[2].accepted(chat, confirmed("t1", call, True))
        for client in clients:
            await client.turn_end(chat, "t1")
            await assert_mirrors(client)


async def test_who_comes_back_to_another_node_is_replayed_exactly_what_was_missed(
    nodes: list[ServedHost], tmp_path: Path
) -> None:
    session = "ahp-session:/back"
    async with company(nodes, session, tmp_path) as (clients, chat):
        await said_to_all(clients, chat, "t1", "hello")
        away = clients[0]
        # One of the same version, who stays, at a third node.
        async with open_client(nodes[1].url, "witness", away.version) as witness:
            await witness.initialize(ROOT)
            for channel in (session, chat):
                await witness.subscribe(channel)
            await away.ping()
            await away.socket.close()
            await said_to_all([*clients[1:], witness], chat, "t2", "while you were away")
            await idle(witness, chat)
            await witness.ping()
            heard = [each for of in witness.envelopes.values() for each in of]
            missed = [each for each in heard if each["serverSeq"] > away.last_seen]
            missed.sort(key=lambda each: each["serverSeq"])
            assert any(each["channel"] == chat for each in missed)
            async with open_client(nodes[2].url, away.client_id, away.version) as back:
                result = await back.resume(away)
                assert result["type"] == "replay"
                # The cluster may have gone on meanwhile; before that nothing is missing or more.
                assert result["actions"][: len(missed)] == missed
                later = [each["serverSeq"] for each in result["actions"][len(missed) :]]
                assert all(number > missed[-1]["serverSeq"] for number in later)
                await assert_mirrors(back)


async def test_the_owner_is_killed_its_turn_ends_and_the_chat_goes_on(
    nodes: list[ServedHost], tmp_path: Path
) -> None:
    async with company(nodes, "ahp-session:/killed", tmp_path) as (clients, chat):
        await said_to_all(clients, chat, "t1", "hello")
        owner = await owner_of(clients[0], nodes)
        left = [c for c, host in zip(clients, nodes, strict=True) if host is not owner]
        await left[0].start_turn(chat, "t2", "/run echo hello")
        for client in left:
            await call_in(client, chat, "pending-confirmation")
        await owner.kill()
        for client in left:
            await client.turn_end(chat, "t2")
        await left[0].start_turn(chat, "t3", "are you there?")
        for client in left:
            await client.turn_end(chat, "t3")
            state = await idle(client, chat)
            assert [turn["id"] for turn in state["turns"]] == ["t1", "t2", "t3"]
            assert texts(state["turns"][2])
            await assert_mirrors(client)
            assert_ascending(client)


async def test_a_node_that_is_told_to_stop_hands_its_sessions_over_first(
    nodes: list[ServedHost], tmp_path: Path
) -> None:
    answered, unanswered, idle_one = (f"ahp-session:/{name}" for name in ("yes", "no", "idle"))
    async with company(nodes, answered, tmp_path) as (clients, chat):
        first, second, third = clients
        chats = {answered: chat}
        for session in (unanswered, idle_one):
            chats[session] = await first.ready_session(session)
            await follow(second, chats[session])
        for session in chats:
            await first.request("agenthost/moveSession", channel=session, node="a")
        owner = host_of(nodes, "a")
        await until_owning(second, "a", 3)
        for session in (answered, unanswered):
            await second.start_turn(chats[session], "t1", "/run echo hello")
            call = await call_in(second, chats[session], "pending-confirmation")
        waiting = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q"}
        message = second.turn_started("", "and then?")["message"]
        await second.accepted(chats[answered], {**waiting, "message": message})
        stopping = asyncio.create_task(owner.stop(signal.SIGTERM))
        # What rests goes at once, and what runs keeps the node.
        assert (await until_owning(second, "a", 2))["draining"]
        assert owner.running
        call = await call_in(second, chats[answered], "pending-confirmation")
        await third.accepted(chats[answered], confirmed("t1", call, True))
        assert await stopping == 0
        # That it was there is asked of the next owner before the former one leaves.
        told = (owner.data_dir / "logs" / "host.log").read_text()
        assert all(f"{session} is with " in told for session in chats)

        # What could wait goes on there, and what could not has ended, with a reason.
        def both(states: dict[str, Json] = second.states) -> Json | None:
            turns = states[chats[answered]]["turns"]
            return turns if len(turns) == 2 else None

        done: Any = await second.until(both)
        assert [turn["state"] for turn in done] == ["complete", "complete"]
        (ended,) = (await idle(second, chats[unanswered]))["turns"]
        assert ended["state"] == "error"
        assert "goes to another machine" in str(ended)
        await said_to_all([second, third], chat, "t9", "go on")
        await assert_mirrors(second)


async def test_somebody_moves_a_session_to_another_node(
    nodes: list[ServedHost], tmp_path: Path
) -> None:
    async with company(nodes, "ahp-session:/moved", tmp_path) as (clients, chat):
        await said_to_all(clients, chat, "t1", "hello")
        owner = await owner_of(clients[0], nodes)
        target = next(name for name, host in zip(NAMES, nodes, strict=True) if host is not owner)
        moved = await clients[1].request(
            "agenthost/moveSession", channel="ahp-session:/moved", node=target
        )
        assert moved == {"node": target}
        # It is there when that is answered: what is asked of the node next it does itself.
        told = (owner.data_dir / "logs" / "host.log").read_text()
        assert f"ahp-session:/moved is with {target} now" in told
        assert await owner_of(clients[0], nodes) is host_of(nodes, target)
        await said_to_all(clients, chat, "t2", "still there?")
        for client in clients:
            await assert_mirrors(client)
