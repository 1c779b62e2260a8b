"""A kind of channels in one module: all that it takes to add one, driven over the wire.

It watches a folder for clients: nothing of it is stored, and what it tells changes no state.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from agenthost.host import Host
from agenthost.host.channels.registry import KINDS
from agenthost.host.log.kind import ChannelKind, Kept, Resumed
from agenthost.host.store import MemoryBacking, MemoryStore
from agenthost.protocol.resource_watch import ResourceWatchState
from tests.wire.client import open_client

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
    async with Host(kinds=[*KINDS, SnapshotsOnly()]) as host:
        url = await host.listen(port=0)
        state: ResourceWatchState = {"root": "file:///tmp", "recursive": False}
        (kind,) = (kind for kind in host._kinds if kind.name == "resourceWatch")
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
