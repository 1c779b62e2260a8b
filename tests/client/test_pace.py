"""Time: how attempts grow apart, when a silent host is asked, and when it is left."""

from __future__ import annotations

import asyncio
from typing import Any

from agenthost.client import (
    CannotConnect,
    Connecting,
    Reconnecting,
)
from tests.client.follower import assert_quiet, connected, followed, resumed, titled, until
from tests.client.scripted import (
    ROOT,
    SESSION,
    ScriptedHost,
    snapshot,
)

Json = dict[str, Any]


async def test_attempts_grow_apart_and_begin_again_after_a_connection_that_lasted() -> None:
    host = ScriptedHost()
    clock = host.clock
    client = host.client(roll=lambda: 1.0, ping_interval=1e9)
    side = await host.welcome(client)
    states: list[Any] = []
    client.connection.on_change(states.append)

    def waits() -> list[float]:
        return [state.delay for state in states if isinstance(state, Reconnecting)]

    try:
        host.failures.extend(CannotConnect(f"attempt {number}") for number in range(9))
        await side.close(1006, "cut")
        expected = [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]
        for number, delay in enumerate(expected, 1):
            await until(client, lambda number=number: len(waits()) == number)
            clock.advance(delay)
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        await connected(client)
        assert waits() == expected
        assert (states[0].reason, states[1]) == ("cut", Connecting(1))

        clock.advance(5)
        await side.close()
        await until(client, lambda: len(waits()) == 11)
        assert waits()[-1] == 30, "too short to count as a good one"
        clock.advance(30)
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        await connected(client)

        clock.advance(11)
        await side.close()
        await until(client, lambda: len(waits()) == 12)
        assert waits()[-1] == 0.25
    finally:
        await client.aclose()


async def test_a_host_that_asks_for_rest_gets_it() -> None:
    host = ScriptedHost()
    client = host.client(wait=True)
    host.failures.append(CannotConnect("429", retry_after=7))
    entering = asyncio.create_task(client.__aenter__())
    await until(client, lambda: isinstance(client.connection.state, Reconnecting))
    assert client.connection.state == Reconnecting("429", 7, 1)
    host.clock.advance(7)
    side = await host.accept()
    await side.initialize(snapshot(ROOT, 1))
    await (await entering).aclose()


async def test_a_silent_host_is_asked_and_left_when_it_does_not_answer() -> None:
    host = ScriptedHost()
    async with followed(host, ping_interval=20, ping_timeout=5) as (client, side, _):
        host.clock.advance(20)
        await side.next("ping")
        await slept(host, 2)
        host.clock.advance(5)
        side = await resumed(host, {"type": "replay", "actions": [], "missing": []})
        await connected(client)
        assert host.dials == 2


async def test_a_host_that_says_anything_at_all_is_alive() -> None:
    host = ScriptedHost()
    async with followed(host, ping_interval=20, ping_timeout=5) as (_, side, session):
        host.clock.advance(20)
        await side.next("ping")
        await slept(host, 2)
        side.action(SESSION, 11, titled("Busy"))
        await session.until(lambda state: state["title"] == "Busy")
        host.clock.advance(5)
        await slept(host, 3)
        assert host.dials == 1


async def test_a_host_is_asked_when_it_has_been_silent_for_the_interval_and_not_before() -> None:
    host = ScriptedHost()
    async with followed(host, ping_interval=20, ping_timeout=5) as (client, side, session):
        host.clock.advance(15)
        side.action(SESSION, 11, titled("Still here"))
        await session.until(lambda state: state["title"] == "Still here")
        host.clock.advance(5)
        await slept(host, 2)
        assert host.clock.asked[-1] == 15
        await assert_quiet(client, side)
        host.clock.advance(20)
        await side.next("ping")


async def slept(host: ScriptedHost, times: int) -> None:
    """Wait until the link has gone to sleep that often."""
    async with asyncio.timeout(60):
        while len(host.clock.asked) < times:
            await host.clock.fell_asleep.wait_past(host.clock.fell_asleep.count)
