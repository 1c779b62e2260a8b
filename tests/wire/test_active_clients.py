"""Active clients: several at once, each for itself, and none that has gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, embed

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


def entry(client_id: str, *tools: str) -> Json:
    definitions = [{"name": tool, "inputSchema": {"type": "object"}} for tool in tools]
    return {"clientId": client_id, "displayName": f"I am {client_id}", "tools": definitions}


def announced(client: WireClient, *tools: str) -> Json:
    return {"type": "session/activeClientSet", "activeClient": entry(client.client_id, *tools)}


def active(client: WireClient, session: str) -> list[str]:
    return [item["clientId"] for item in client.states[session]["activeClients"]]


def announcements(client: WireClient, session: str) -> list[Json]:
    """Return what a client was told of who is active; a session has other news at any time."""
    actions = (envelope["action"] for envelope in client.envelopes[session])
    return [action for action in actions if action["type"] == "session/activeClientSet"]


@asynccontextmanager
async def two_active(url: str, name: str) -> AsyncIterator[tuple[WireClient, WireClient, str]]:
    """Two clients that are both active in one session."""
    session = f"ahp-session:/{name}"
    async with open_client(url, f"{name} a") as a, open_client(url, f"{name} b") as b:
        for client in (a, b):
            await client.initialize()
        await a.ready_session(session)
        await b.subscribe(session)
        for client in (a, b):
            await client.accepted(session, announced(client))
        # Each has heard of the other.
        await a.ping()
        yield a, b, session


async def test_several_clients_are_active_each_with_its_own_entry(
    shared_host: ServedHost,
) -> None:
    async with two_active(shared_host.url, "several") as (a, b, session):
        await a.accepted(session, announced(a, "look", "listen"))
        await b.ping()
        for client in (a, b):
            expected = [entry(a.client_id, "look", "listen"), entry(b.client_id)]
            assert client.states[session]["activeClients"] == expected
            mirrored, fresh = await client.compared(session)
            assert mirrored == fresh
        gone = {"type": "session/activeClientRemoved", "clientId": a.client_id}
        await a.accepted(session, gone)
        await b.ping()
        assert active(a, session) == active(b, session) == [b.client_id]


async def test_nobody_announces_or_withdraws_another(shared_host: ServedHost) -> None:
    async with two_active(shared_host.url, "own") as (a, b, session):
        before = a.states[session]
        for action in (
            announced(b),
            {"type": "session/activeClientSet", "activeClient": entry("nobody")},
            {"type": "session/activeClientRemoved", "clientId": b.client_id},
        ):
            assert "only" in await a.rejected(session, action)
        await b.ping()
        assert a.states[session]["activeClients"] == before["activeClients"]
        assert active(b, session) == [a.client_id, b.client_id]


async def test_saying_the_same_again_is_told_to_nobody_else(shared_host: ServedHost) -> None:
    async with two_active(shared_host.url, "again") as (a, b, session):
        await b.ping()
        heard = len(announcements(b, session))
        for _ in range(5):
            await a.accepted(session, announced(a))
        await b.ping()
        assert active(b, session) == [a.client_id, b.client_id]
        assert len(announcements(b, session)) == heard


async def test_whoever_stops_following_a_session_is_not_active_there(
    shared_host: ServedHost,
) -> None:
    async with two_active(shared_host.url, "leaves") as (a, b, session):
        chat = b.states[session]["defaultChat"]
        await a.subscribe(chat)
        # Leaving a chat is not leaving its session.
        await a.send({"method": "unsubscribe", "params": {"channel": chat}})
        await a.ping()
        await b.ping()
        assert a.client_id in active(b, session)
        await a.send({"method": "unsubscribe", "params": {"channel": session}})
        await b.action(session, "session/activeClientRemoved", clientId=a.client_id)
        assert active(b, session) == [b.client_id]


@pytest.mark.parametrize("listed", [True, False])
async def test_a_reconnect_keeps_a_client_active_where_it_lists_the_session(
    shared_host: ServedHost, listed: bool
) -> None:
    async with two_active(shared_host.url, f"back-{listed}") as (a, b, session):
        a.abort()
        await a.closed
        async with open_client(shared_host.url, a.client_id) as again:
            await again.reconnect(a.last_seen, *([session] if listed else []))
            await b.ping()
            if not listed:
                await b.action(session, "session/activeClientRemoved", clientId=a.client_id)
            expected = [a.client_id, b.client_id] if listed else [b.client_id]
            assert active(b, session) == expected


async def test_a_client_that_stays_away_is_not_active_after_the_grace() -> None:
    async with embed(active_grace=0.2) as url, two_active(url, "away") as (a, b, session):
        a.abort()
        await b.action(session, "session/activeClientRemoved", clientId=a.client_id)
        assert active(b, session) == [b.client_id]


async def test_a_client_that_comes_back_within_the_grace_never_left() -> None:
    async with (
        embed(active_grace=5.0) as url,
        two_active(url, "briefly") as (a, b, session),
        open_client(url, "a third") as third,
    ):
        await third.initialize()
        await third.subscribe(session)
        await third.accepted(session, announced(third))
        a.abort()
        await a.closed
        async with open_client(url, a.client_id) as again:
            await again.initialize(session)
            # The third leaves later than the first did, so its grace outlasts the first's.
            third.abort()
            await b.action(session, "session/activeClientRemoved", clientId="a third")
            assert active(b, session) == [a.client_id, b.client_id]


async def test_a_newer_connection_keeps_its_client_active(shared_host: ServedHost) -> None:
    async with (
        two_active(shared_host.url, "superseded") as (a, b, session),
        open_client(shared_host.url, a.client_id) as newer,
    ):
        await newer.initialize(session)
        await a.closed
        await b.ping()
        assert active(b, session) == active(newer, session) == [a.client_id, b.client_id]


async def test_the_creators_own_entry_leaves_with_it() -> None:
    async with (
        embed(active_grace=0.2) as url,
        open_client(url, "creator") as creator,
        open_client(url, "watcher") as watcher,
    ):
        for client in (creator, watcher):
            await client.initialize()
        await creator.ready_session("s:/1", activeClient=entry("creator", "look"))
        state = await watcher.subscribe("s:/1")
        assert state["activeClients"] == [entry("creator", "look")]
        creator.abort()
        await watcher.action("s:/1", "session/activeClientRemoved", clientId="creator")
        assert watcher.states["s:/1"]["activeClients"] == []
