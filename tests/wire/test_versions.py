"""Every version gets its own words, whoever else is in the chat."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import WireClient, open_client, user_message
from tests.wire.hosting import ServedHost
from tests.wire.schemas import complaints_about, needs_schemas
from tests.wire.wording import annotation, since, turn_cancelled

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = "ahp-root://"


def queued(id: str, text: str) -> dict[str, Any]:
    return {
        "type": "chat/pendingMessageSet",
        "kind": "queued",
        "id": id,
        "message": user_message(text),
    }


def cancelled(client: WireClient, turn: str) -> dict[str, Any]:
    return turn_cancelled(client.version, turn)


async def run_everything(client: WireClient, session: str) -> None:
    """Do what a client can do with the demo agent, and let it all come to its end."""
    chat = await client.ready_session(session, progressToken=f"token {session}")
    notes = f"{session}/annotations"
    await client.subscribe(chat)
    await client.subscribe(notes)
    for turn, text in enumerate(("hello", "/think", "/stream 50", "/fail")):
        await client.run_turn(chat, f"t{turn}", text)
    await client.start_turn(chat, "slow", "/slow 60")
    await client.accepted(chat, cancelled(client, "slow"))
    await client.accepted(chat, queued("q1", "from the queue"))
    await client.action(chat, "chat/turnComplete", turnId=await queued_turn(client, chat, "q1"))
    await client.accepted(chat, {"type": "chat/draftChanged", "draft": user_message("draft")})
    await client.accepted(notes, annotation(client.version, "n1", session, chat, "t0"))
    await client.accepted(session, {"type": "session/titleChanged", "title": "Named"})
    active = {"clientId": client.client_id, "tools": [], "displayName": "Tester"}
    await client.accepted(session, {"type": "session/activeClientSet", "activeClient": active})
    source = {"chat": chat, "turnId": "t0"}
    if since(client.version, "0.7.0"):
        source["kind"] = "fork"
    forked = f"{chat}-fork"
    await client.request("createChat", channel=session, chat=forked, source=source)
    await client.subscribe(forked)
    await client.accepted(chat, {"type": "chat/truncated", "turnId": "t1"})
    for method in ("resolveSessionConfig", "listSessions"):
        await client.request(method)
    await client.request("fetchTurns", channel=chat)
    await client.request("disposeChat", channel=forked)


async def queued_turn(client: WireClient, chat: str, id: str) -> str:
    action = await client.action(chat, "chat/turnStarted", queuedMessageId=id)
    turn: str = action["turnId"]
    return turn


@needs_schemas
@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
async def test_everything_that_a_client_is_sent_is_of_its_own_version(
    shared_host: ServedHost, version: str
) -> None:
    async with open_client(shared_host.url, f"own {version}", version) as client:
        result = await client.initialize(ROOT)
        assert result["protocolVersion"] == version
        session = f"ahp-session:/own-{version}"
        await run_everything(client, session)
        chat = client.states[session]["defaultChat"]
        ends = [
            envelope["action"]["type"].removeprefix("chat/")
            for envelope in client.envelopes[chat]
            if envelope["action"]["type"]
            in ("chat/turnComplete", "chat/turnCancelled", "chat/error")
        ]
        assert ends == [*["turnComplete"] * 3, "error", "turnCancelled", "turnComplete"]
        await client.request("disposeSession", channel=session)
        await client.notification("root/sessionRemoved", lambda p: p["session"] == session)
        assert complaints_about(client) == []


@needs_schemas
async def test_what_the_newest_version_is_sent_would_be_noticed_in_any_older_one(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "checked") as client:
        await client.initialize(ROOT)
        await run_everything(client, "ahp-session:/checked")
        for version in SUPPORTED_VERSIONS[1:]:
            client.version = version
            assert complaints_about(client) != []


@needs_schemas
async def test_clients_of_every_version_see_the_same_work_each_in_its_own_version(
    shared_host: ServedHost,
) -> None:
    session = "ahp-session:/watched"
    async with AsyncExitStack() as stack:
        watchers = []
        for version in SUPPORTED_VERSIONS:
            watcher = await stack.enter_async_context(
                open_client(shared_host.url, f"watch {version}", version)
            )
            await watcher.initialize(ROOT)
            watchers.append(watcher)
        actor = await stack.enter_async_context(open_client(shared_host.url, "actor"))
        await actor.initialize(ROOT)
        chat = await actor.ready_session(session)
        for watcher in watchers:
            for channel in (session, chat, f"{session}/annotations"):
                await watcher.subscribe(channel)
        await run_turns_of_all_kinds(actor, session, chat)
        await actor.subscribe(f"{chat}-side")
        await actor.until(lambda: next(iter(actor.states[f"{chat}-side"]["turns"]), None))
        for watcher in watchers:
            await watcher.ping()
            assert complaints_about(watcher) == []
            await assert_mirrors(watcher)


async def run_turns_of_all_kinds(actor: WireClient, session: str, chat: str) -> None:
    await actor.subscribe(chat)
    await actor.subscribe(f"{session}/annotations")
    for turn, text in enumerate(("hello", "/think", "/stream 50", "/fail")):
        await actor.run_turn(chat, f"t{turn}", text)
    await actor.start_turn(chat, "slow", "/slow 60")
    await actor.accepted(chat, queued("q1", "later"))
    await actor.accepted(chat, cancelled(actor, "slow"))
    message = user_message("side")
    source = {"kind": "sideChat", "chat": chat, "turnId": "t0", "selection": {"text": "said"}}
    await actor.request(
        "createChat", channel=session, chat=f"{chat}-side", source=source, initialMessage=message
    )
    noted = annotation(actor.version, "n1", session, chat, "t0")
    await actor.accepted(f"{session}/annotations", noted)
    await actor.accepted(chat, {"type": "chat/truncated", "turnId": "t2"})


async def test_mirrors_of_three_versions_equal_fresh_snapshots_of_their_own(
    shared_host: ServedHost,
) -> None:
    session = "ahp-session:/shared"
    notes = f"{session}/annotations"
    async with AsyncExitStack() as stack:
        oldest, middle, newest = [
            await stack.enter_async_context(open_client(shared_host.url, f"m {version}", version))
            for version in ("0.5.0", "0.6.0", SUPPORTED_VERSIONS[0])
        ]
        clients = (oldest, middle, newest)
        for client in clients:
            await client.initialize(ROOT)
        chat = await newest.ready_session(session)
        for client in clients:
            for channel in (session, chat, notes):
                await client.subscribe(channel)

        await oldest.run_turn(chat, "t1", "/think")
        await middle.run_turn(chat, "t2", "hello from the middle")
        await newest.run_turn(chat, "t3", "/stream 20")
        await assert_all_mirror(*clients)

        await middle.accepted(notes, annotation(middle.version, "n1", session, turn_id="t1"))
        entry = {"id": "e2", "text": "Because."}
        action = {"type": "annotations/entrySet", "annotationId": "n1", "entry": entry}
        await oldest.accepted(notes, action)
        await assert_all_mirror(*clients)
        assert [len(client.states[notes]["annotations"]) for client in clients] == [1, 1, 1]

        await newest.start_turn(chat, "t4", "/slow 60")
        for client in clients:
            await client.working_slowly(chat)
        await oldest.accepted(chat, queued("q1", "from the oldest"))
        await middle.accepted(chat, queued("q2", "from the middle"))
        await assert_all_mirror(*clients)
        assert [len(client.states[chat]["queuedMessages"]) for client in clients] == [2, 2, 2]
        await oldest.accepted(chat, cancelled(oldest, "t4"))
        # The queue is held after a cancel; the next message put into it sets it in motion.
        await newest.accepted(chat, queued("q3", "from the newest"))
        for id in ("q1", "q2", "q3"):
            await newest.turn_end(chat, await queued_turn(newest, chat, id))
        await assert_all_mirror(*clients)

        await middle.accepted(chat, {"type": "chat/truncated", "turnId": "t2"})
        await assert_all_mirror(*clients)
        for client in clients:
            assert [turn["id"] for turn in client.states[chat]["turns"]] == ["t1", "t2"]


async def assert_all_mirror(*clients: WireClient) -> None:
    for client in clients:
        await client.ping()
    for client in clients:
        await assert_mirrors(client)


async def assert_mirrors(client: WireClient) -> None:
    """What the client made of the envelopes it was sent is what a fresh snapshot holds."""
    for channel in list(client.states):
        mirrored, fresh = await client.compared(channel)
        assert mirrored == fresh, f"{client.version} {channel}"


# 0.10.0 was the name of 1.0.0 before it was published.
@pytest.mark.parametrize("offer", ["0.7.3", "0.9.1", "0.10.0", "1.0.7", "1.4.0"])
async def test_a_later_release_is_agreed_on_in_the_clients_own_spelling(
    shared_host: ServedHost, offer: str
) -> None:
    async with open_client(shared_host.url, f"later {offer}") as client:
        result = await client.initialize(protocolVersions=[offer])
        assert result["protocolVersion"] == offer
        await client.ping()


async def test_the_highest_offered_version_is_agreed_on_whatever_its_place(
    shared_host: ServedHost,
) -> None:
    async with open_client(shared_host.url, "ascending") as client:
        result = await client.initialize(protocolVersions=["0.3.0", "0.5.0", "0.9.0", "9.0.0"])
        assert result["protocolVersion"] == "0.9.0"


@pytest.mark.parametrize("offer", [["9.1.0", "0.4.0"], []])
async def test_an_offer_without_a_known_version_is_refused_with_the_known_ones_and_closed(
    shared_host: ServedHost, offer: list[str]
) -> None:
    async with open_client(shared_host.url, "from the future") as client:
        failure = await client.refusal(
            # Whatever else a newer version may have made of its parameters is not looked at.
            "initialize",
            protocolVersions=offer,
            clientId={"reshaped": True},
        )
        assert failure.code == -32005
        assert failure.data == {"supportedVersions": list(SUPPORTED_VERSIONS)}
        code, reason = await client.closed
        assert (code, bool(reason)) == (1000, True)


@pytest.mark.parametrize("offer", [None, [7], ["1.0"], ["1.0.0", None], "1.0.0", ["v1.0.0"]])
async def test_a_malformed_offer_is_an_error_in_the_parameters(
    shared_host: ServedHost, offer: Any
) -> None:
    async with open_client(shared_host.url, "malformed") as client:
        failure = await client.refusal("initialize", protocolVersions=offer, clientId="m")
        assert failure.code == -32602
        # The connection is still good for a proper offer.
        await client.initialize()
