"""A kind of channels in one module: all that it takes to add one, driven over the wire.

It watches a folder for clients: nothing of it is stored, and what it tells changes no state.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import Any, cast

from agenthost.host import Host
from agenthost.host.channels import registry
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.effects import Consequence
from agenthost.host.log.kind import AnyKind, ChannelKind, Kept, Resumed
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.host.trust import Principal
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.protocol.resource_watch import ResourceWatchState
from agenthost.protocol.versions import NEWEST
from agenthost.tokens import Role
from agenthost.transport import Encoded, Transport, memory_pair
from tests.flags import eventually
from tests.wire.client import open_client

# Without the host's own watches, in whose place these are.
KINDS = [kind for kind in registry.KINDS if kind.name != "resourceWatch"]
WATCH = "ahp-resource-watch:/1"
CHANGED = {
    "type": "resourceWatch/changed",
    "changes": {"items": [{"uri": "file:///tmp/a", "type": "updated"}]},
}


async def create_watch(connection: Any, params: dict[str, Any]) -> dict[str, Any]:
    state: ResourceWatchState = {"root": params["uri"], "recursive": False}
    channel = connection.core.directory.create(WATCH, WATCHES, state)
    return {"channel": channel.uri}


class Watches(ChannelKind[ResourceWatchState]):
    name = "resourceWatch"
    kept = Kept.MEMORY
    resumed = Resumed.MISSING
    events = frozenset({"resourceWatch/changed"})
    methods = MappingProxyType({"createResourceWatch": create_watch})


WATCHES = Watches()


class SnapshotsOnly(Watches):
    """As the others, but those who come back may go on with the state."""

    resumed = Resumed.SNAPSHOT


def tell(host: Host) -> None:
    channel = host.core.directory.get(WATCH)
    assert channel is not None
    assert host.core.writer.apply(channel, dict(CHANGED))


async def test_an_event_reaches_everybody_and_nothing_of_it_is_stored() -> None:
    backing = MemoryBacking()
    async with Host(store=MemoryStore(backing), kinds=[*KINDS, WATCHES]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "one") as one, open_client(url, "two", "0.5.2") as two:
            for client in (one, two):
                await client.initialize()
            created = await one.request("createResourceWatch", uri="file:///tmp")
            assert created == {"channel": WATCH}
            for client in (one, two):
                assert await client.subscribe(WATCH) == {"root": "file:///tmp", "recursive": False}
            tell(host)
            told = [await client.envelope(WATCH, lambda envelope: True) for client in (one, two)]
            assert [envelope["action"] for envelope in told] == [CHANGED, CHANGED]
            assert told[0]["serverSeq"] == told[1]["serverSeq"]
        await host.core.writer.ledger.settle()
        assert await host.core.store.load_channel(WATCH) is None
        assert await host.core.store.read_after(0, [WATCH], 10) == []
    async with Host(store=MemoryStore(backing), kinds=[*KINDS, WATCHES]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "one") as one:
            await one.initialize()
            assert (await one.refusal("subscribe", channel=WATCH)).code == -32008


async def test_whoever_was_away_is_told_that_it_must_be_made_anew() -> None:
    async with Host(kinds=[*KINDS, WATCHES]) as host:
        url = await host.listen(port=0)
        async with open_client(url, "away") as former:
            await former.initialize("ahp-root://")
            await former.request("createResourceWatch", uri="file:///tmp")
            await former.subscribe(WATCH)
            former.abort()
        tell(host)
        async with open_client(url, "away") as client:
            result = await client.reconnect(former.last_seen, "ahp-root://", WATCH)
            assert result["type"] == "replay"
            assert result["missing"] == [WATCH]
            # What it missed is lost; what comes is not sent to who does not follow it any more.
            tell(host)
            await client.ping()
            assert WATCH not in client.envelopes


async def test_a_kind_without_a_log_may_go_on_with_a_snapshot() -> None:
    kind = SnapshotsOnly()
    async with Host(kinds=[*KINDS, kind]) as host:
        url = await host.listen(port=0)
        state: ResourceWatchState = {"root": "file:///tmp", "recursive": False}
        host.core.directory.create(WATCH, kind, state)
        async with open_client(url, "away") as former:
            await former.initialize("ahp-root://", WATCH)
            former.abort()
        tell(host)
        async with open_client(url, "away") as client:
            result = await client.reconnect(former.last_seen, "ahp-root://", WATCH)
            assert result["type"] == "snapshot"
            assert {item["resource"] for item in result["snapshots"]} == {"ahp-root://", WATCH}
            tell(host)
            await client.action(WATCH, "resourceWatch/changed")


class Release(Consequence, frozen=True):
    channel: AnyChannel


class Private(Watches):
    """Watches that are for one person alone, and end with the last who follows them."""

    def may_follow(self, channel: AnyChannel, principal: Principal) -> bool:
        return principal.name == "ann"

    def deserted(self, channel: AnyChannel) -> Sequence[Consequence]:
        return (Release(channel),)


@asynccontextmanager
async def released(kind: AnyKind) -> AsyncIterator[tuple[Host, Callable[[str, str], Client], Any]]:
    """A host with a watch of a kind: how to come to it as somebody, and what was released."""
    async with Host(kinds=[*KINDS, kind]) as host, AsyncExitStack() as stack:
        state: ResourceWatchState = {"root": "file:///tmp", "recursive": False}
        host.core.directory.create(WATCH, kind, state)
        gone: list[AnyChannel] = []

        def release(effect: Release) -> None:
            gone.append(effect.channel)
            host.core.directory.drop(effect.channel)

        host.core.effects.on(Release, release)

        def come(name: str, client_id: str) -> Client:
            ours, theirs = memory_pair()
            serving = host.serve(theirs, Principal(name, Role.OPERATOR))
            task = asyncio.create_task(serving)
            stack.push_async_callback(asyncio.wait, {task})
            stack.push_async_callback(ours.close)
            return Client(ours, client_id)

        yield host, come, gone


class Client:
    """A client over a pair of transports in memory."""

    def __init__(self, transport: Transport, client_id: str) -> None:
        self.transport = transport
        self.client_id = client_id

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        request = {"id": method, "method": method, "params": {"channel": "ahp-root://", **params}}
        self.transport.write([Encoded(dumps({"jsonrpc": "2.0", **request}))])
        async with asyncio.timeout(60):
            while (answer := loads(await self.transport.receive())).get("id") != method:
                pass
        return cast("dict[str, Any]", answer)

    async def initialize(self, *uris: str) -> list[str]:
        """Begin; return what can be followed."""
        versions, client_id = [NEWEST], self.client_id
        answer = await self.call(
            "initialize",
            protocolVersions=versions,
            clientId=client_id,
            initialSubscriptions=list(uris),
        )
        return [each["resource"] for each in answer["result"]["snapshots"]]

    def unsubscribe(self, uri: str) -> None:
        message = {"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": uri}}
        self.transport.write([Encoded(dumps(message))])


async def test_who_may_not_follow_a_channel_does_not_find_it() -> None:
    async with released(Private()) as (_, come, gone):
        ann, bob = come("ann", "a"), come("bob", "b")
        assert await ann.initialize(WATCH) == [WATCH]
        assert await bob.initialize(WATCH) == []
        for uri in (WATCH, "ahp-resource-watch:/none"):
            error = (await bob.call("subscribe", channel=uri))["error"]
            assert error == {"code": -32008, "message": f"there is no channel {uri}"}
        again = come("bob", "b")
        resumed = await again.call(
            "reconnect", clientId="b", lastSeenServerSeq=0, subscriptions=[WATCH, "ahp-root://"]
        )
        assert WATCH not in [each["resource"] for each in resumed["result"].get("snapshots", [])]
        assert resumed["result"].get("missing", [WATCH]) == [WATCH]
        assert gone == []


async def test_a_channel_is_deserted_when_the_last_who_follows_it_goes() -> None:
    async with released(Private()) as (host, come, gone):
        one, two = come("ann", "1"), come("ann", "2")
        for client in (one, two):
            await client.initialize(WATCH)
        # Following it twice is following it.
        await one.call("subscribe", channel=WATCH)
        one.unsubscribe(WATCH)
        one.unsubscribe(WATCH)
        await one.call("ping")
        assert gone == []
        two.unsubscribe(WATCH)
        await two.call("ping")
        assert [channel.uri for channel in gone] == [WATCH]
        assert host.core.directory.get(WATCH) is None


async def test_a_channel_is_deserted_when_the_last_who_follows_it_is_cut_off() -> None:
    async with released(Private()) as (host, come, gone):
        only = come("ann", "1")
        await only.initialize(WATCH, "ahp-root://")
        await only.transport.close()
        await eventually(lambda: not host.connections)
        assert [channel.uri for channel in gone] == [WATCH]


async def test_a_channel_that_is_gone_already_is_not_deserted() -> None:
    async with released(Private()) as (host, come, gone):
        only = come("ann", "1")
        await only.initialize(WATCH)
        channel = host.core.directory.get(WATCH)
        assert channel is not None
        host.core.directory.drop(channel)
        await only.transport.close()
        await eventually(lambda: not host.connections)
        assert gone == []
