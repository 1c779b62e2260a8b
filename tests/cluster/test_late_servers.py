"""A node that starts while its servers have no leader waits for one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agenthost.cluster.realm import RealmLink
from tests.cluster.servers import three_servers


async def test_a_realm_is_opened_once_its_servers_have_a_leader(tmp_path: Path) -> None:
    async with three_servers(tmp_path) as servers:
        async with RealmLink(servers.address, "first") as link:
            made = await link.open_realm()
            leader = await servers.leader(link)
        # A leader that was left alone would still answer for some seconds, as if nothing were.
        paused = [leader, next(server for server in servers.all if server is not leader)]
        for server in paused:
            server.pause()
        async with RealmLink(servers.address, "late") as link:
            opening = asyncio.create_task(link.open_realm(create=False))
            # Longer than one question may take.
            _, waiting = await asyncio.wait((opening,), timeout=5)
            assert waiting
            for server in paused:
                server.resume()
            async with asyncio.timeout(60):
                assert (await opening).created == made.created
                assert (await link.stream_state()).created == made.created
