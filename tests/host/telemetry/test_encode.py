"""OTLP/JSON as the specification of OTLP has it, and not as protobuf's own mapping does."""

from __future__ import annotations

import re

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind, set_span_in_context

from agenthost.host.telemetry.encode import logs_json, metrics_json, spans_json

RESOURCE = Resource({"service.name": "agenthost"})


def test_ids_of_spans_are_hexadecimal_and_kinds_are_numbers() -> None:
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=RESOURCE, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("agenthost")
    turn = tracer.start_span("turn")
    call = tracer.start_span(
        "call",
        context=set_span_in_context(turn),
        kind=SpanKind.CLIENT,
        links=[Link(turn.get_span_context())],
        # A key of this name is an attribute, whatever it holds.
        attributes={"traceId": "AAAA", "count": 3},
    )
    call.end()
    turn.end()
    request = spans_json(memory.get_finished_spans())
    (resource,) = request["resourceSpans"]
    assert resource["resource"]["attributes"] == [
        {"key": "service.name", "value": {"stringValue": "agenthost"}}
    ]
    child, parent = resource["scopeSpans"][0]["spans"]
    assert parent["spanId"] == f"{turn.get_span_context().span_id:016x}"
    assert parent["traceId"] == f"{turn.get_span_context().trace_id:032x}"
    assert "parentSpanId" not in parent
    assert child["parentSpanId"] == parent["spanId"]
    assert child["traceId"] == parent["traceId"]
    assert child["links"][0]["spanId"] == parent["spanId"]
    assert child["kind"] == 3
    assert {"key": "traceId", "value": {"stringValue": "AAAA"}} in child["attributes"]
    assert re.fullmatch(r"\d+", str(child["startTimeUnixNano"]))


def test_log_records_have_the_severity_as_a_number() -> None:
    memory = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider(RESOURCE, shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(memory))
    record = LogRecord(
        timestamp=5, severity_number=SeverityNumber.WARN, severity_text="WARN", body="slow"
    )
    provider.get_logger("agenthost").emit(record)
    request = logs_json(memory.get_finished_logs())
    (told,) = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert (told["severityNumber"], told["severityText"]) == (13, "WARN")
    assert told["body"] == {"stringValue": "slow"}


def test_metrics_say_by_numbers_how_they_add_up() -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], RESOURCE, shutdown_on_exit=False)
    provider.get_meter("agenthost").create_counter("turns").add(2, {"agent": "demo"})
    data = reader.get_metrics_data()
    assert data is not None
    request = metrics_json(data)
    (metric,) = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    assert metric["name"] == "turns"
    assert metric["sum"]["aggregationTemporality"] == 2
    assert metric["sum"]["isMonotonic"] is True
    assert metric["sum"]["dataPoints"][0]["asInt"] == "2"
    provider.shutdown()
