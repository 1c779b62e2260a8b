"""Two people at once, one of whom disposes what the other is about to use."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from agenthost.errors import SessionNotFound
from agenthost.host import Host, MemoryStore
from agenthost.host.store import WholeChannel
from tests.wire.agents import Puppet
from tests.wire.client import open_client
from tests.wire.hosting import embed

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT, SESSION = "ahp-root://", "ahp-session:/1"
NO_SESSION, NOT_FOUND = -32001, -32008


class Gated(MemoryStore):
    """Loads the channels that a test names only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[str] = set()
        self.asked = asyncio.Event()
        self.may_load = asyncio.Event()

    async def load_whole(
        self, channel: str, buckets: Collection[str], owners: str
    ) -> WholeChannel | None:
        if channel in self.held:
            self.asked.set()
            await self.may_load.wait()
        return await super().load_whole(channel, buckets, owners)


async def test_a_chat_is_not_created_in_a_session_that_goes_meanwhile() -> None:
    store = Gated()
    store.held = {"c:/new"}
    async with (
        embed(store=store) as url,
        open_client(url, "creates") as client,
        open_client(url, "disposes") as other,
    ):
        for each in (client, other):
            await each.initialize()
        await client.ready_session(SESSION)
        creating = asyncio.create_task(client.refusal("createChat", channel=SESSION, chat="c:/new"))
        await store.asked.wait()
        await other.request("disposeSession", channel=SESSION)
        store.may_load.set()
        assert (await creating).code == NO_SESSION
        # It would be a chat whose session cannot be found, which no host could load again.
        assert (await client.refusal("subscribe", channel="c:/new")).code == NOT_FOUND


async def test_of_two_who_dispose_a_session_one_finds_it_gone() -> None:
    store = Gated()
    async with (
        Host(store=store) as host,
        open_client(await host.listen(port=0), "one") as client,
    ):
        await client.initialize(ROOT)
        store.held = {await client.ready_session(SESSION)}
        await client.ready_session("ahp-session:/other")
        await client.send({"method": "unsubscribe", "params": {"channel": SESSION}})
        await client.ping()
        host.core.directory.sweep(idle_seconds=0)
        disposals = [asyncio.create_task(host.core.sessions.dispose(SESSION)) for _ in range(2)]
        await store.asked.wait()
        assert not any(disposal.done() for disposal in disposals)
        store.may_load.set()
        outcomes = await asyncio.gather(*disposals, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None), SessionNotFound]
        await client.ping()
        assert client.states[ROOT]["activeSessions"] == 1


async def test_nobody_is_active_in_a_session_that_was_taken_back() -> None:
    async with embed(Puppet()) as url, open_client(url, "a") as client:
        await client.initialize()
        chat = await client.ready_session(
            SESSION, config={"mode": "ask"}, activeClient={"clientId": "a", "tools": []}
        )
        await client.subscribe(chat)
        await client.run_turn(chat, "t1", "hello")
        await client.request("disposeSession", channel=SESSION)
        await client.request("agenthost/restoreSession", channel=SESSION)
        assert (await client.subscribe(SESSION))["activeClients"] == []
