"""How many bytes somebody may send: from all connections together, and nobody else pays for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agenthost.host import Limits, Role
from tests.wire.client import WireClient, open_client
from tests.wire.people import People, peopled

KIB = 1024
# What a viewer may send at once, opening connections included. What is spent comes back so slowly
# that none of it does within a test.
BURST, NEVER = 64 * KIB, 1e-3
# Once beside two connections it fits into a burst, and not a second time.
LONG = "x" * (20 * KIB)


@asynccontextmanager
async def screen(people: People, name: str, number: int) -> AsyncIterator[WireClient]:
    """Let a viewer in at one more screen."""
    async with open_client(people.url(name, Role.VIEWER), f"{name} {number}") as client:
        await client.initialize()
        try:
            yield client
        finally:
            # Its goodbye could not be heard.
            client.abort()


async def say_much(client: WireClient) -> None:
    await client.request("ping", padding=LONG)


async def test_a_viewer_who_sent_its_burst_is_not_read_at_any_screen_and_others_are(
    tmp_path: Path,
) -> None:
    limits = Limits(viewer_byte_burst=BURST, viewer_bytes_per_second=NEVER)
    async with (
        peopled(tmp_path, limits=limits) as people,
        people.client("olga", Role.OPERATOR) as operator,
        screen(people, "vic", 1) as first,
        screen(people, "vic", 2) as second,
        screen(people, "wim", 1) as viewer,
    ):
        await say_much(first)
        slowed = [asyncio.create_task(say_much(client)) for client in (first, second)]
        # Each of these would have been enough for the host to take what came before.
        for _ in range(10):
            await operator.request("ping", padding=LONG)
            await viewer.ping()
        await say_much(viewer)
        assert not any(task.done() for task in slowed)
        # Slowed down, not sent away.
        assert not first.closed.done()
        assert not second.closed.done()
        for task in slowed:
            task.cancel()


async def test_those_who_are_no_viewers_have_an_allowance_of_their_own(tmp_path: Path) -> None:
    limits = Limits(byte_burst=BURST, bytes_per_second=NEVER)
    async with (
        peopled(tmp_path, limits=limits) as people,
        screen(people, "vic", 1) as viewer,
        people.client("olga", Role.OPERATOR) as operator,
    ):
        for _ in range(2):
            await say_much(operator)
        slowed = asyncio.create_task(say_much(operator))
        for _ in range(10):
            await say_much(viewer)
        assert not slowed.done()
        slowed.cancel()
        operator.abort()
