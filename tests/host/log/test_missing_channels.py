"""Channels that are made when somebody asks for them, by those who know what they hold."""

from __future__ import annotations

import asyncio
from typing import Any

from agenthost.errors import SessionNotFound
from agenthost.host import Host
from agenthost.host.channels.registry import KINDS
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.directory import Directory
from agenthost.host.log.kind import ChannelKind, Kept, Resumed
from agenthost.protocol.resource_watch import ResourceWatchState
from tests.flags import eventually
from tests.wire.client import open_client

PREFIX = "ahp-old:/"
STATE: ResourceWatchState = {"root": "file:///tmp", "recursive": False}


class Reopened(ChannelKind[ResourceWatchState]):
    name = "resourceWatch"
    kept = Kept.MEMORY
    resumed = Resumed.SNAPSHOT


REOPENED = Reopened()


class Opener:
    """Makes the channels under one prefix, and remembers what it was asked for."""

    def __init__(self, directory: Directory, prefix: str = PREFIX) -> None:
        self._directory = directory
        self._prefix = prefix
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, uri: str) -> AnyChannel | None:
        self.asked.append(uri)
        await self.may_answer.wait()
        if uri.endswith("gone"):
            raise SessionNotFound("its session is gone")
        if not uri.startswith(self._prefix):
            return None
        return self._directory.create(uri, REOPENED, STATE)


def serving() -> Host:
    return Host(kinds=[*KINDS, REOPENED])


async def test_a_missing_channel_is_opened_once_however_many_ask_for_it() -> None:
    async with serving() as host:
        directory = host.core.directory
        opener = Opener(directory)
        directory.on_missing(opener)
        opener.may_answer.clear()
        asking = [asyncio.create_task(directory.find(f"{PREFIX}1")) for _ in range(50)]
        await eventually(lambda: bool(opener.asked))
        asking[0].cancel()
        opener.may_answer.set()
        found = await asyncio.gather(*asking[1:])
        assert set(found) == {directory.get(f"{PREFIX}1")}
        assert found[0] is not None
        # From then on it is there.
        assert await directory.find(f"{PREFIX}1") is found[0]
        assert opener.asked == [f"{PREFIX}1"]


async def test_they_are_asked_in_order_until_one_knows_and_for_nothing_that_is_there() -> None:
    async with serving() as host:
        directory = host.core.directory
        first, second = Opener(directory, "ahp-first:/"), Opener(directory)
        directory.on_missing(first)
        directory.on_missing(second)
        assert await directory.find("ahp-root://") is host.core.root
        assert await directory.find("ahp-first:/1") is not None
        assert await directory.find(f"{PREFIX}1") is not None
        assert await directory.find("ahp-other:/1") is None
        assert await directory.find(f"{PREFIX}2", host.core.root.kind) is None
        assert "ahp-root://" not in first.asked
        assert second.asked == [f"{PREFIX}1", "ahp-other:/1", f"{PREFIX}2"]


async def test_clients_follow_what_is_opened_for_them() -> None:
    async with serving() as host:
        host.core.directory.on_missing(Opener(host.core.directory))
        url = await host.listen(port=0)
        async with open_client(url, "c") as client:
            result: dict[str, Any] = await client.initialize(f"{PREFIX}1", f"{PREFIX}gone")
            # One that cannot be opened costs nobody the others.
            assert [each["resource"] for each in result["snapshots"]] == [f"{PREFIX}1"]
            assert await client.subscribe(f"{PREFIX}2") == STATE
            assert (await client.refusal("subscribe", channel="ahp-none:/1")).code == -32008
            assert (await client.refusal("subscribe", channel=f"{PREFIX}gone")).code == -32001
            action = {"type": "resourceWatch/changed", "changes": {"items": []}}
            assert await client.rejected(f"{PREFIX}gone", action)
