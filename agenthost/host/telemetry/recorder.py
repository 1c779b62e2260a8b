"""OpenTelemetry at work: the providers of one host, and where what they gather goes.

Importing this loads the SDK, so a thread does it, once somebody wants to know. The providers are
the host's own and never the process' global ones: an embedding program keeps its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricReader,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from agenthost.agents.tracing import TracingProviders
from agenthost.host.telemetry.exporters import (
    EndpointExporter,
    FollowedLogs,
    FollowedMetrics,
    FollowedSpans,
    Followers,
    MaskedSpans,
    Reported,
    ReportedLogs,
    ReportedMetrics,
    endpoint_exporters,
)
from agenthost.host.telemetry.instruments import ReadNumbers, TurnInstruments, observe_host
from agenthost.host.telemetry.log_records import TelemetryLogHandler, listen, python_level
from agenthost.host.telemetry.masking import Masker
from agenthost.host.telemetry.turn_trace import (
    Attributes,
    TurnTrace,
    read_traceparent,
    traceparent_of,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.util.types import AttributeValue

    from agenthost.host.telemetry.settings import TelemetrySettings

SCOPE = "agenthost"
# Milliseconds after which a batch for those who follow leaves, and how much is in one at most.
BATCH_DELAY = 1000
MOST_IN_BATCH = 128
# What waits for a batch at most; of more the oldest is lost.
MOST_WAITING = 2048
# How often numbers are sent to those who follow, in milliseconds.
METRICS_INTERVAL = 15_000


class RecorderNeeds(Struct, frozen=True):
    """What a recorder needs of its host."""

    settings: TelemetrySettings
    followers: Followers
    mask: Callable[[str], str]
    read_numbers: ReadNumbers
    version: str | None = None


class TelemetryRecorder:
    """Everything that is recorded while somebody wants to know."""

    def __init__(self, needs: RecorderNeeds) -> None:
        """Make the providers, in a thread: that takes as long as importing them does."""
        self._settings = needs.settings
        self._masker = Masker(needs.mask)
        self._followers = needs.followers
        self._endpoints = endpoint_exporters(needs.settings.endpoints)
        resource = _resource(needs.version)
        self._followed_metrics = PeriodicExportingMetricReader(
            FollowedMetrics(needs.followers), METRICS_INTERVAL
        )
        readers: list[MetricReader] = [self._followed_metrics]
        if "metrics" in self._endpoints:
            readers.append(self._metrics_sender(*self._endpoints["metrics"]))
        self._meters = MeterProvider(readers, resource, shutdown_on_exit=False)
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._follow_spans()
        if "traces" in self._endpoints:
            self._send_spans(*self._endpoints["traces"])
        self._logs = LoggerProvider(resource, shutdown_on_exit=False)
        self._follow_logs()
        if "logs" in self._endpoints:
            self._send_logs(*self._endpoints["logs"])
        self._tracer = self._tracers.get_tracer(SCOPE, needs.version)
        meter = self._meters.get_meter(SCOPE, needs.version)
        self._instruments = TurnInstruments(meter)
        observe_host(meter, needs.read_numbers)
        self._handler = TelemetryLogHandler(
            self._logs.get_logger(SCOPE, needs.version), self._masker
        )
        # Chat URI -> the trace of its turn: workers' turns belong below the calls of others.
        self._open: dict[str, TurnTrace] = {}

    def turn(
        self,
        *,
        session: str,
        chat: str,
        turn_id: str,
        agent: str,
        model: str | None,
        parent: object = None,
        origin: Mapping[str, object] | None = None,
    ) -> TurnTrace:
        """Begin the trace of a turn.

        It is below the tool call that started its chat as a worker's, or below ``parent``, which
        its message came with.
        """
        shared: Attributes = {"ahp.session.id": session, "ahp.turn.id": turn_id}
        attributes: Attributes = {
            **shared,
            "ahp.chat.id": chat,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
        }
        if model is not None:
            attributes["gen_ai.request.model"] = model
        context = self._below_call(origin) or read_traceparent(parent)
        span = self._tracer.start_span("turn", context=context, attributes=attributes)
        providers = TracingProviders(traceparent_of(span), self._tracers, self._meters)
        trace = TurnTrace(
            self._tracer,
            span,
            turn_id,
            shared,
            self._instruments,
            providers,
            agent,
            on_end=lambda: self._ended(chat, trace),
        )
        self._open[chat] = trace
        return trace

    def listen(self, followed: int | None) -> None:
        """Hear the host's log: from ``followed`` on for those who follow, if anybody does."""
        wanted = [followed] if followed is not None else []
        if "logs" in self._endpoints:
            wanted.append(self._settings.severity)
        listen(self._handler, python_level(min(wanted)) if wanted else None)

    def tell_numbers(self) -> None:
        """Send the numbers now to those who follow, in a thread: they are sent seldom."""
        self._followed_metrics.collect()

    def close(self, seconds: float) -> None:
        """Send what waits, in a thread and for about so long, and end."""
        listen(self._handler, None)
        ends = [
            threading.Thread(target=end, name="end telemetry", daemon=True)
            for end in (self._tracers.shutdown, self._logs.shutdown, self._meters.shutdown)
        ]
        until = time.monotonic() + seconds
        for thread in ends:
            thread.start()
        for thread in ends:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in ends):
            # They try again and again; what is not sent by now is lost.
            for exporter, _ in self._endpoints.values():
                exporter.shutdown()

    def _below_call(self, origin: Mapping[str, object] | None) -> Context | None:
        """Return the place of the tool call that started a worker's chat."""
        if origin is None or origin.get("kind") != "tool":
            return None
        trace = self._open.get(str(origin.get("chat")))
        return trace.call_context(str(origin.get("toolCallId"))) if trace is not None else None

    def _ended(self, chat: str, trace: TurnTrace) -> None:
        if self._open.get(chat) is trace:
            del self._open[chat]

    def _follow_spans(self) -> None:
        exporter = FollowedSpans(self._followers, self._masker)
        self._tracers.add_span_processor(
            BatchSpanProcessor(exporter, MOST_WAITING, BATCH_DELAY, MOST_IN_BATCH)
        )

    def _follow_logs(self) -> None:
        exporter = FollowedLogs(self._followers)
        self._logs.add_log_record_processor(
            BatchLogRecordProcessor(
                exporter, BATCH_DELAY, MOST_IN_BATCH, max_queue_size=MOST_WAITING
            )
        )

    def _send_spans(self, exporter: EndpointExporter, reported: Reported) -> None:
        masked = MaskedSpans(cast("SpanExporter", exporter), self._masker, reported)
        self._tracers.add_span_processor(BatchSpanProcessor(masked))

    def _send_logs(self, exporter: EndpointExporter, reported: Reported) -> None:
        severity = self._settings.severity
        severe = ReportedLogs(cast("LogRecordExporter", exporter), severity, reported)
        self._logs.add_log_record_processor(BatchLogRecordProcessor(severe))

    def _metrics_sender(self, exporter: EndpointExporter, reported: Reported) -> MetricReader:
        metrics = ReportedMetrics(cast("MetricExporter", exporter), reported)
        return PeriodicExportingMetricReader(metrics)


def _resource(version: str | None) -> Resource:
    """Say whose telemetry it is; the standard variables know better than we do."""
    ours: dict[str, AttributeValue] = {"service.name": SCOPE}
    if version is not None:
        ours["service.version"] = version
    theirs = OTELResourceDetector().detect().attributes
    return Resource.create({**ours, **theirs})
