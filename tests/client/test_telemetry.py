"""Telemetry of a host: batches of one signal, as long as somebody reads them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agenthost.client import ChannelGone, Client, Lagged, Unsupported
from agenthost.client.telemetry import MOST_WAITING, telemetry_uri
from agenthost.errors import PermissionDenied
from tests.client.scripted import ROOT, ScriptedHost, Side, snapshot

TELEMETRY = {"logs": "ahp-otlp://logs{?level}", "traces": "ahp-otlp://traces"}
TRACES = "ahp-otlp://traces"


@asynccontextmanager
async def told(**offered: Any) -> AsyncIterator[tuple[Client, Side, ScriptedHost]]:
    host = ScriptedHost()
    client = host.client()
    entering = asyncio.create_task(client.__aenter__())
    side = await host.accept()
    await side.initialize(snapshot(ROOT, 1), seq=1, **offered)
    await entering
    try:
        yield client, side, host
    finally:
        await client.aclose()


def batch(side: Side, number: int, channel: str = TRACES) -> None:
    side.notify("otlp/exportTraces", channel=channel, payload={"resourceSpans": [number]})


async def test_batches_of_the_channel_that_was_asked_for_arrive_in_order() -> None:
    async with told(telemetry=TELEMETRY) as (client, side, _):
        traces = client.telemetry("traces")
        first = asyncio.ensure_future(anext(traces))
        asked = await side.next("subscribe")
        assert asked["params"]["channel"] == TRACES
        side.answer(asked, {})
        batch(side, 0, "ahp-otlp://elsewhere")
        batch(side, 1)
        batch(side, 2)
        assert await first == {"resourceSpans": [1]}
        assert await anext(traces) == {"resourceSpans": [2]}
        await traces.aclose()  # type: ignore[attr-defined]
        left = await side.next("unsubscribe")
        assert left["params"]["channel"] == TRACES


async def test_the_level_goes_into_the_address() -> None:
    async with told(telemetry=TELEMETRY) as (client, side, _):
        first = asyncio.ensure_future(anext(client.telemetry("logs", "warn")))
        asked = await side.next("subscribe")
        assert asked["params"]["channel"] == "ahp-otlp://logs?level=warn"
        side.answer(asked, {})
        side.notify("otlp/exportLogs", channel="ahp-otlp://logs?level=warn", payload={"a": 1})
        assert await first == {"a": 1}


async def test_after_a_reconnect_it_is_subscribed_to_again() -> None:
    async with told(telemetry=TELEMETRY) as (client, side, host):
        traces = client.telemetry("traces")
        first = asyncio.ensure_future(anext(traces))
        side.answer(await side.next("subscribe"), {})
        batch(side, 1)
        await first
        await side.close()
        again = await host.accept()
        asked = await again.next("reconnect")
        again.answer(asked, {"type": "replay", "actions": [], "missing": []})
        again.answer(await again.next("subscribe"), {})
        second = asyncio.ensure_future(anext(traces))
        batch(again, 2)
        assert await second == {"resourceSpans": [2]}


async def test_a_host_that_tells_nothing_says_so() -> None:
    async with told() as (client, _, _):
        with pytest.raises(Unsupported, match="tells no metrics"):
            await anext(client.telemetry("metrics"))


async def test_a_refusal_is_the_hosts_own() -> None:
    async with told(telemetry=TELEMETRY) as (client, side, _):
        first = asyncio.ensure_future(anext(client.telemetry("traces")))
        side.refuse(await side.next("subscribe"), PermissionDenied.code, "owners only")
        with pytest.raises(PermissionDenied, match="owners only"):
            await first


async def test_closing_the_client_ends_it() -> None:
    async with told(telemetry=TELEMETRY) as (client, side, _):
        traces = client.telemetry("traces")
        first = asyncio.ensure_future(anext(traces))
        side.answer(await side.next("subscribe"), {})
        batch(side, 1)
        await first
        waiting = asyncio.ensure_future(anext(traces))
        await asyncio.sleep(0)
        await client.aclose()
        with pytest.raises(ChannelGone):
            await waiting


async def test_who_does_not_read_is_ended_and_costs_no_memory() -> None:
    async with told(telemetry=TELEMETRY) as (client, side, _):
        traces = client.telemetry("traces")
        first = asyncio.ensure_future(anext(traces))
        side.answer(await side.next("subscribe"), {})
        batch(side, -1)
        await first
        for number in range(MOST_WAITING + 1):
            batch(side, number)
        asking = asyncio.create_task(client.request("ping"))
        side.answer(await side.next("ping"), {})
        await asking
        for number in range(MOST_WAITING):
            assert await anext(traces) == {"resourceSpans": [number]}
        with pytest.raises(Lagged):
            await anext(traces)


@pytest.mark.parametrize(
    ("template", "level", "uri"),
    [
        ("ahp-otlp://logs{?level}", "warn", "ahp-otlp://logs?level=warn"),
        ("ahp-otlp://logs{?level}", None, "ahp-otlp://logs"),
        ("ahp-otlp://logs/{level}", "info", "ahp-otlp://logs/info"),
        ("ahp-otlp://logs{/level}{?tenant}", "info", "ahp-otlp://logs/info"),
        ("ahp-otlp://logs?a=b{&level}", "error", "ahp-otlp://logs?a=b&level=error"),
        ("ahp-otlp://traces", "warn", "ahp-otlp://traces"),
    ],
)
def test_a_template_knows_the_level_alone(template: str, level: str | None, uri: str) -> None:
    assert telemetry_uri(template, level) == uri
