"""One client id on two connections: a twin takes over, a late attempt of our own does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agenthost.client import Client, Connected, Superseded
from tests.client.follower import closed, connected, followed, resumed
from tests.client.scripted import PATIENCE, ScriptedHost
from tests.client.world import World

REASON = "superseded by a newer connection of this client"
NOTHING: dict[str, Any] = {"type": "replay", "actions": [], "missing": []}


async def lose_attempt(host: ScriptedHost, code: int = 1006, reason: str = "cut") -> None:
    """Let the client come back, and end that connection before it is answered."""
    side = await host.accept()
    await side.next("reconnect")
    await side.close(code, reason)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World() as made, asyncio.timeout(2 * PATIENCE):
        yield made


async def test_of_two_processes_with_one_id_the_later_one_stays(world: World) -> None:
    first = await world.join("first", client_id="twin")
    second = await world.join("second", client_id="twin")
    assert isinstance(await closed(first), Superseded)
    assert await second.request("ping") is None
    assert isinstance(second.connection.state, Connected)


async def test_of_many_processes_with_one_id_one_stays(world: World) -> None:
    clients: list[Client] = [
        await world.join(f"number {number}", client_id="twin") for number in range(5)
    ]
    for client in clients[:-1]:
        assert isinstance(await closed(client), Superseded)
    await clients[-1].request("ping")
    assert isinstance(clients[-1].connection.state, Connected)


async def test_a_twin_of_a_client_that_came_back_takes_over_at_once(world: World) -> None:
    """The host has answered every earlier connection of it, so none of them can be the newest."""
    first = await world.join("first", client_id="twin")
    world.wire("first").cut(0, 0)
    await first.request("ping")
    second = await world.join("second", client_id="twin")
    assert isinstance(await closed(first), Superseded)
    await second.request("ping")
    assert isinstance(second.connection.state, Connected)


async def test_a_first_connection_cannot_be_superseded_by_ourselves() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close(1008, REASON)
        assert isinstance(await closed(client), Superseded)
        assert host.dials == 1


async def test_a_client_that_another_one_took_over_from_does_not_fight_back() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        host.clock.advance(11)
        await side.close(1008, REASON)
        assert isinstance(await closed(client), Superseded)
        assert host.dials == 1


async def test_an_attempt_of_our_own_that_the_host_comes_to_late_is_outlived() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close()
        await lose_attempt(host)
        side = await resumed(host, NOTHING)
        await connected(client)
        await side.close(1008, REASON)
        await resumed(host, NOTHING)
        await connected(client)
        assert host.dials == 4


async def test_an_ordinary_drop_in_between_does_not_make_a_late_attempt_forgotten() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close()
        await lose_attempt(host)
        for code, reason in ((1006, "cut"), (1008, REASON)):
            side = await resumed(host, NOTHING)
            await connected(client)
            await side.close(code, reason)
        await resumed(host, NOTHING)
        await connected(client)


async def test_a_late_attempt_of_our_own_explains_being_superseded_once() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close()
        await lose_attempt(host)
        for _ in range(2):
            side = await resumed(host, NOTHING)
            await connected(client)
            await side.close(1008, REASON)
        assert isinstance(await closed(client), Superseded)
        assert host.dials == 4


async def test_an_attempt_that_the_host_itself_ended_cannot_come_late() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close()
        await lose_attempt(host, 1013, "busy")
        side = await resumed(host, NOTHING)
        await connected(client)
        await side.close(1008, REASON)
        assert isinstance(await closed(client), Superseded)


async def test_a_late_attempt_does_not_explain_what_happens_to_a_connection_that_lasted() -> None:
    host = ScriptedHost()
    async with followed(host) as (client, side, _):
        await side.close()
        await lose_attempt(host)
        side = await resumed(host, NOTHING)
        await connected(client)
        host.clock.advance(11)
        await side.close(1008, REASON)
        assert isinstance(await closed(client), Superseded)
