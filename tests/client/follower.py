"""A client that follows a scripted host, and how to wait for what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agenthost.client import Channel, Client, Closed, Connected
from tests.client.scripted import PATIENCE, SESSION, ScriptedHost, Side, snapshot

__all__ = ["assert_quiet", "closed", "connected", "followed", "resumed", "titled", "until"]

Json = dict[str, Any]


def titled(title: str) -> Json:
    return {"type": "session/titleChanged", "title": title}


@asynccontextmanager
async def followed(
    host: ScriptedHost, **options: Any
) -> AsyncIterator[tuple[Client, Side, Channel[Any]]]:
    """A client that follows the root and one session, at number 10."""
    client = host.client(**options)
    # Whoever waits for what never comes fails, rather than holding up the others.
    async with asyncio.timeout(2 * PATIENCE):
        side = await host.welcome(client)
        try:
            subscribing = asyncio.create_task(client.subscribe(SESSION))
            await side.subscribed(snapshot(SESSION, 10))
            yield client, side, await subscribing
        finally:
            await client.aclose()


async def resumed(host: ScriptedHost, result: Json) -> Side:
    """Accept the next link, answer its reconnect, and return it."""
    side = await host.accept()
    side.answer(await side.next("reconnect"), result)
    return side


async def connected(client: Client) -> Connected:
    async for state in client.connection:
        if isinstance(state, Connected):
            return state
    raise AssertionError("the client was closed")


async def closed(client: Client) -> Exception | None:
    async with asyncio.timeout(PATIENCE):
        async for state in client.connection:
            if isinstance(state, Closed):
                return state.error
    raise AssertionError("the iteration ends with Closed")


async def until(client: Client, holds: Any) -> None:
    """Wait until something holds, looking whenever the state of the connection changes."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await client.connection.changed.wait_past(client.connection.changed.count)


async def assert_quiet(client: Client, side: Side) -> None:
    """Check that the client has sent nothing but what a ping brings forth."""
    asking = asyncio.create_task(client.request("ping"))
    side.answer(await side.next("ping"), None)
    await asking
