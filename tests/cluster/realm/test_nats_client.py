"""The client of NATS ends when it is told to, also where it is deaf to a cancellation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.cluster.servers import one_server, realm_link

# Seconds after which a task will not end any more.
PATIENCE = 60.0


async def test_a_link_leaves_nothing_that_goes_on_to_connect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trying = asyncio.Event()

    async def deaf(client: Client, server: object) -> None:
        # As `wait_for` is, where an attempt fails in the very moment of the cancellation.
        trying.set()
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            raise OSError("refused") from None

    before = asyncio.all_tasks()
    async with one_server(tmp_path) as servers, realm_link(servers):
        monkeypatch.setattr(Client, "_connect_to_server", deaf)
        servers[0].kill()
        async with asyncio.timeout(PATIENCE):
            await trying.wait()
    left = asyncio.all_tasks() - before
    if left:
        _, on = await asyncio.wait(left, timeout=PATIENCE / 2)
        assert not on
