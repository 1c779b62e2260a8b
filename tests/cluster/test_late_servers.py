"""A node that starts while its servers have no leader, or are too few, waits for them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agenthost.cluster.realm import RealmLink, RealmUnreachable, stream
from tests.cluster.servers import NatsServer, Servers, three_servers

# How often the lead may move on just when servers are to be paused.
TRIES = 5


async def test_a_realm_is_opened_once_its_servers_have_a_leader(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers:
        async with RealmLink(servers.address, "first") as link:
            made = await link.open_realm()
        for _ in range(TRIES):
            paused = await without_a_leader(servers)
            async with RealmLink(servers.address, "late") as link:
                opening = asyncio.create_task(link.open_realm(create=False))
                # Longer than one question may take.
                _, waiting = await asyncio.wait((opening,), timeout=5)
                for server in paused:
                    server.resume()
                async with asyncio.timeout(60):
                    assert (await opening).created == made.created
                    assert (await link.stream_state()).created == made.created
            if waiting:
                return
            # The one that was left had come to lead, and answers for some seconds.
        raise AssertionError("a realm was opened though its servers had no leader")


async def test_a_realm_is_made_once_there_are_servers_enough(tmp_path: Path) -> None:
    async with (
        three_servers(tmp_path, keep_streams=2) as servers,
        RealmLink(servers.address, "early") as link,
    ):
        opening = asyncio.create_task(link.open_realm())
        _, waiting = await asyncio.wait((opening,), timeout=3)
        servers[2].kill()
        servers[2].keep_streams()
        servers[2].start()
        async with asyncio.timeout(60):
            assert (await opening).replicas == 3
        assert waiting


async def test_what_is_said_where_there_are_never_servers_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_PATIENCE", 1.0)
    async with (
        three_servers(tmp_path, keep_streams=2) as servers,
        RealmLink(servers.address, "early") as link,
    ):
        with pytest.raises(RealmUnreachable, match="three servers of the cluster, and fewer"):
            await link.open_realm()


async def without_a_leader(servers: Servers) -> list[NatsServer]:
    """Pause the leader and one other server; return both."""
    async with RealmLink(servers.address, "asking") as link:
        leader = await servers.leader(link)
    paused = [leader, next(server for server in servers.all if server is not leader)]
    for server in paused:
        server.pause()
    return paused
