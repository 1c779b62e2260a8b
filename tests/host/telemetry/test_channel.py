"""The ``ahp-otlp:`` channels: who may follow them, and what comes."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agenthost.host.telemetry.signals import Stream
from agenthost.tokens import OWNER_NAME, Role
from tests.host.telemetry.collecting import recording
from tests.wire.client import WireClient, open_client
from tests.wire.demonstrating import asked, demo
from tests.wire.people import People, peopled
from tests.wire.talking import OLDEST, confirmed

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
TRACES, METRICS = "ahp-otlp://traces", "ahp-otlp://metrics"
log = logging.getLogger("agenthost.host.somewhere")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def people(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[People]:
    async with peopled(tmp_path_factory.mktemp("people")) as people:
        yield people


def spans_of(params: Json) -> Iterator[Json]:
    assert params["channel"] == TRACES
    for resource in params["payload"]["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            yield from scope["spans"]


def records_of(client: WireClient, channel: str) -> list[str]:
    """Return the messages that a client was sent on a channel so far."""
    return [
        record["body"]["stringValue"]
        for message in client.received
        if message.get("method") == "otlp/exportLogs" and message["params"]["channel"] == channel
        for resource in message["params"]["payload"]["resourceLogs"]
        for scope in resource["scopeLogs"]
        for record in scope["logRecords"]
    ]


async def follow(people: People, client: WireClient, channel: str) -> None:
    """Follow a channel, and wait until the host records."""
    assert await client.request("subscribe", channel=channel) == {}
    await recording(people.host)


async def test_nothing_is_recorded_until_somebody_follows(people: People) -> None:
    async with people.client(OWNER_NAME):
        assert people.host.core.telemetry.active is None


@pytest.mark.parametrize("version", ["1.0.0", OLDEST])
async def test_a_turn_is_sent_to_who_follows_the_traces(
    people: People, tmp_path: Path, version: str
) -> None:
    async with open_client(people.url(OWNER_NAME), f"watcher {version}", version) as watcher:
        await watcher.initialize()
        await follow(people, watcher, TRACES)
        async with demo(people.url(OWNER_NAME), tmp_path) as chat:
            call = await asked(chat, "t1", "/run echo hello")
            await chat.answer(confirmed("t1", call, True))
            await chat.end("t1")

        def ended() -> Json | None:
            # In one batch or in several.
            spans = {
                span["name"]: span
                for message in watcher.received
                if message.get("method") == "otlp/exportTraces"
                for span in spans_of(message["params"])
                if chat.session in str(span)
            }
            return spans if "turn" in spans else None

        spans = await watcher.until(ended)
        turn, tool = spans["turn"], spans["tool call shell"]
        assert re.fullmatch("[0-9a-f]{32}", turn["traceId"])
        assert tool["parentSpanId"] == turn["spanId"]
        assert spans["approval"]["parentSpanId"] == tool["spanId"]
        assert tool["kind"] == 1


async def test_turns_are_not_recorded_for_who_follows_the_log_alone(people: People) -> None:
    async with people.client(OWNER_NAME) as client:
        await follow(people, client, "ahp-otlp://logs/info")
        await client.ping()
        assert people.host.core.telemetry.active is None
        await follow(people, client, TRACES)
        await client.ping()
        assert people.host.core.telemetry.active is not None


async def test_initialize_tells_owners_and_nobody_else(people: People) -> None:
    advertised = {
        "logs": "ahp-otlp://logs{?level}",
        "traces": "ahp-otlp://traces",
        "metrics": "ahp-otlp://metrics",
    }
    for name, role, told in ((OWNER_NAME, Role.OWNER, advertised), ("vic", Role.VIEWER, None)):
        async with open_client(people.url(name, role), f"asks {name}", "1.0.0") as client:
            result = await client.initialize()
            assert result.get("telemetry") == told


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER])
async def test_others_than_owners_find_no_telemetry(people: People, role: Role) -> None:
    async with people.client(f"a-{role.value}", role) as client:
        refused = await client.refusal("subscribe", channel=TRACES)
        assert refused.code == -32008


async def test_a_channel_of_no_such_name_is_not_there(people: People) -> None:
    async with people.client(OWNER_NAME) as client:
        refused = await client.refusal("subscribe", channel="ahp-otlp://logs?level=loud")
        assert refused.code == -32008


async def test_each_level_is_a_stream_of_its_own(people: People) -> None:
    quiet, loud = "ahp-otlp://logs?level=error", "ahp-otlp://logs/INFO"
    async with people.client(OWNER_NAME) as client:
        await follow(people, client, quiet)
        await follow(people, client, loud)
        log.info("somebody came")
        thread = threading.Thread(target=log.error, args=("token=abcdef failed",))
        thread.start()
        thread.join()
        await client.until(lambda: {"": 1} if records_of(client, quiet) else None)
        await client.until(
            lambda: {"": 1} if "token=[redacted] failed" in records_of(client, loud) else None
        )
        assert records_of(client, quiet) == ["token=[redacted] failed"]
        assert "somebody came" in records_of(client, loud)


async def test_the_numbers_come_at_once(people: People) -> None:
    async with people.client(OWNER_NAME) as client:
        await follow(people, client, METRICS)
        params = await client.notification("otlp/exportMetrics", lambda params: True)
        metrics = {
            metric["name"]: metric
            for resource in params["payload"]["resourceMetrics"]
            for scope in resource["scopeMetrics"]
            for metric in scope["metrics"]
        }
        connections = metrics["agenthost_connections"]["gauge"]["dataPoints"][0]
        assert float(connections.get("asInt", connections.get("asDouble"))) >= 1
        assert metrics["agenthost_requests_total"]["sum"]["isMonotonic"] is True


async def test_who_reads_nothing_loses_batches_and_costs_no_memory(people: People) -> None:
    telemetry = people.host.core.telemetry
    async with people.client(OWNER_NAME) as client:
        await follow(people, client, TRACES)
        (connection,) = (each for each in people.host.connections if each.subscriptions)
        lost = telemetry.followers.lost
        # As if it had that much to read already.
        connection.outbox.waiting_bytes += 2**20
        telemetry.followers.publish(Stream("traces"), {"resourceSpans": []})
        await asyncio.sleep(0)
        connection.outbox.waiting_bytes -= 2**20
        assert telemetry.followers.lost == lost + 1
        telemetry.followers.publish(Stream("traces"), {"resourceSpans": []})
        await client.ping()
        assert telemetry.followers.lost == lost + 1
        received = [each for each in client.received if each.get("method") == "otlp/exportTraces"]
        assert [each["params"]["payload"]["resourceSpans"] for each in received].count([]) == 1
