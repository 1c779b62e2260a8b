"""Traces, logs and metrics of a host arrive in an OTLP collector, each where it belongs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agenthost.host import Host
from tests.host.telemetry.collecting import CollectorProcess, collector, recording
from tests.wire.demonstrating import asked, demo
from tests.wire.talking import calls_of, confirmed, request_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]


class Traced:
    """A host and the collector that it sends to."""

    def __init__(self, collected: CollectorProcess, url: str) -> None:
        self.collected = collected
        self.url = url


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def traced() -> AsyncIterator[Traced]:
    with pytest.MonkeyPatch.context() as patch:
        async with collector() as collected:
            for name, value in collected.environment.items():
                patch.setenv(name, value)
            patch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=green")
            patch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
            async with Host() as host:
                url = await host.listen(port=0)
                await recording(host)
                yield Traced(collected, url)


async def test_a_turn_its_call_and_its_approval_are_one_trace(
    traced: Traced, tmp_path: Path
) -> None:
    async with demo(traced.url, tmp_path) as chat:
        call = await asked(chat, "t1", "/run echo secret-words")
        await chat.answer(confirmed("t1", call, True))
        turn = await chat.end("t1")
    (call,) = calls_of(turn)
    root = await traced.collected.span("turn", ahp__session__id=chat.session)
    tool = await traced.collected.span("tool call shell", ahp__tool_call__id=call["toolCallId"])
    approval = await traced.collected.span("approval", ahp__tool_call__id=call["toolCallId"])
    assert "parentSpanId" not in root
    assert tool["parentSpanId"] == root["spanId"]
    assert approval["parentSpanId"] == tool["spanId"]
    assert {span["traceId"] for span in (root, tool, approval)} == {root["traceId"]}
    assert root["attributes"]["ahp.turn.id"] == "t1"
    assert root["attributes"]["ahp.turn.state"] == "complete"
    assert tool["attributes"]["ahp.outcome"] == "succeeded"
    assert approval["attributes"]["ahp.outcome"] == "approved"
    assert int(root["startTimeUnixNano"]) <= int(tool["startTimeUnixNano"])
    assert int(tool["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])
    # Names are told, and nothing that was said.
    assert "secret-words" not in str(traced.collected.requests)


async def test_a_worker_is_below_the_call_that_started_it(traced: Traced, tmp_path: Path) -> None:
    async with demo(traced.url, tmp_path) as chat:
        turn = await chat.run("t1", "/subagent 3 words")
    (call,) = calls_of(turn)
    tool = await traced.collected.until(
        lambda: next(
            (
                span
                for span in traced.collected.spans()
                if span["attributes"].get("ahp.tool_call.id") == call["toolCallId"]
            ),
            None,
        )
    )
    worker = await traced.collected.until(
        lambda: next(
            (
                span
                for span in traced.collected.spans()
                if span["name"] == "turn" and span.get("parentSpanId") == tool["spanId"]
            ),
            None,
        )
    )
    assert worker["traceId"] == tool["traceId"]
    assert worker["attributes"]["ahp.session.id"] == chat.session


async def test_a_turn_that_fails_says_so_by_a_word(traced: Traced, tmp_path: Path) -> None:
    async with demo(traced.url, tmp_path) as chat:
        turn = await chat.run("t1", "/nonsense secret-words")
        assert turn["state"] == "error"
    span = await traced.collected.span("turn", ahp__session__id=chat.session)
    assert span["status"] == {"code": 2}
    assert span["attributes"]["error.type"] == "unknownCommand"
    assert span["attributes"]["ahp.turn.state"] == "error"


async def test_a_turn_that_is_cancelled_ends_what_waits_in_it(
    traced: Traced, tmp_path: Path
) -> None:
    async with demo(traced.url, tmp_path) as chat:
        call = await asked(chat, "t1", "/run echo hello")
        await chat.cancel("t1")
        await chat.end("t1")
    turn = await traced.collected.span("turn", ahp__session__id=chat.session)
    tool = await traced.collected.span("tool call shell", ahp__tool_call__id=call["toolCallId"])
    approval = await traced.collected.span("approval", ahp__tool_call__id=call["toolCallId"])
    assert turn["attributes"]["ahp.turn.state"] == "cancelled"
    assert "code" not in turn.get("status", {})
    assert approval["parentSpanId"] == tool["spanId"]
    assert approval["attributes"]["ahp.outcome"] == tool["attributes"]["ahp.outcome"] != "approved"


async def test_a_call_that_is_denied_has_an_approval_that_says_so(
    traced: Traced, tmp_path: Path
) -> None:
    async with demo(traced.url, tmp_path) as chat:
        call = await asked(chat, "t1", "/run echo hello")
        await chat.answer(confirmed("t1", call, False))
        await chat.end("t1")
    approval = await traced.collected.span("approval", ahp__tool_call__id=call["toolCallId"])
    assert approval["attributes"]["ahp.outcome"] == "denied"


async def test_a_turn_is_below_what_its_message_names(traced: Traced, tmp_path: Path) -> None:
    trace, parent = "ab" * 16, "cd" * 8
    async with demo(traced.url, tmp_path) as chat:
        started = chat.client.turn_started("t1", "hello")
        # Not to be recorded, says the flag; what this host records is not for a client to say.
        started["message"]["_meta"] = {"traceparent": f"00-{trace}-{parent}-00"}
        await chat.answer(started)
        await chat.end("t1")
        started = chat.client.turn_started("t2", "hello")
        started["message"]["_meta"] = {"traceparent": "nonsense"}
        await chat.answer(started)
        await chat.end("t2")
    span = await traced.collected.span("turn", ahp__session__id=chat.session, ahp__turn__id="t1")
    assert (span["traceId"], span["parentSpanId"]) == (trace, parent)
    span = await traced.collected.span("turn", ahp__session__id=chat.session, ahp__turn__id="t2")
    assert "parentSpanId" not in span


async def test_a_question_is_a_span_of_its_own(traced: Traced, tmp_path: Path) -> None:
    async with demo(traced.url, tmp_path) as chat:
        await chat.start("t1", "/ask")
        request = await request_in(chat.client, chat.uri)
        await chat.answer(
            {"type": "chat/inputCompleted", "requestId": request["id"], "response": "decline"}
        )
        await chat.end("t1")
    turn = await traced.collected.span("turn", ahp__session__id=chat.session)
    question = await traced.collected.span("question", ahp__session__id=chat.session)
    assert question["parentSpanId"] == turn["spanId"]
    assert question["attributes"]["ahp.outcome"] == "decline"


async def test_logs_and_numbers_come_with_the_standard_names(traced: Traced) -> None:
    logging.getLogger("agenthost.host.somewhere").warning("careful with token=abcdef")
    collected = traced.collected
    record = await collected.until(
        lambda: next((r for r in collected.logs() if "careful" in str(r["body"])), None)
    )
    assert record["body"] == {"stringValue": "careful with token=[redacted]"}
    assert record["severityNumber"] == 13
    wanted = {"agenthost_sessions", "agenthost.turn.duration", "agenthost_requests_total"}
    await collected.until(
        lambda: wanted <= {metric["name"] for metric in collected.metrics()} or None
    )
    assert {request["headers"].get("x-tenant") for request in collected.requests} == {"green"}
    resources = str([r["request"] for r in collected.requests if r["path"] == "/v1/traces"])
    assert "'service.name', 'value': {'stringValue': 'agenthost'}" in resources
    assert "'deployment.environment', 'value': {'stringValue': 'test'}" in resources
