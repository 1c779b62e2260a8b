"""Where telemetry leaves the host: to an OTLP endpoint, and to those who follow a channel.

All of this runs in threads that OpenTelemetry keeps for it. Whoever does not take anything loses
it; nobody waits.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from agenthost.host.telemetry.encode import logs_json, metrics_json, spans_json

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.trace import ReadableSpan

    from agenthost.host.telemetry.masking import Masker
    from agenthost.host.telemetry.settings import Endpoint
    from agenthost.host.telemetry.signals import Signal, Stream
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

# Signal -> the module and class of OpenTelemetry's own exporter.
_HTTP: dict[str, tuple[str, str]] = {
    "traces": ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "OTLPSpanExporter"),
    "logs": ("opentelemetry.exporter.otlp.proto.http._log_exporter", "OTLPLogExporter"),
    "metrics": ("opentelemetry.exporter.otlp.proto.http.metric_exporter", "OTLPMetricExporter"),
}


class Followers(Protocol):
    """Those who follow telemetry channels, as other threads see them."""

    def streams(self, signal: Signal) -> Sequence[Stream]:
        """Return what is followed of a signal; any thread may ask."""
        ...

    def publish(self, stream: Stream, payload: JsonObject) -> None:
        """Send a batch to all who follow a stream; any thread may ask."""
        ...


class EndpointExporter(Protocol):
    """OpenTelemetry's own exporter, of any signal."""

    def shutdown(self) -> None:
        """Send no more, and give up what is being tried."""
        ...


def endpoint_exporters(
    endpoints: Iterable[tuple[Signal, Endpoint]],
) -> dict[Signal, tuple[EndpointExporter, Reported]]:
    """Make OpenTelemetry's exporters; where one cannot be made, that signal is sent nowhere."""
    # They tell every failed attempt, and `Reported` tells the first.
    quiet = logging.getLogger("opentelemetry.exporter.otlp")
    if quiet.level == logging.NOTSET:
        quiet.setLevel(logging.CRITICAL)
    made: dict[Signal, tuple[EndpointExporter, Reported]] = {}
    for signal, endpoint in endpoints:
        try:
            made[signal] = (_exporter(signal, endpoint), Reported(signal, endpoint))
        except ImportError:
            package = f"opentelemetry-exporter-otlp-proto-{endpoint.protocol.partition('/')[0]}"
            log.warning("telemetry: %s are not sent: pip install %s", signal, package)
        except Exception as error:
            # What the environment says of it: a certificate that is not there, a bad number.
            log.warning("telemetry: %s are not sent (%s)", signal, type(error).__name__)
    return made


def _exporter(signal: Signal, endpoint: Endpoint) -> EndpointExporter:
    module, name = _HTTP[signal]
    if endpoint.protocol == "grpc":
        module = module.replace(".http.", ".grpc.")
    exporter: Callable[..., EndpointExporter] = getattr(importlib.import_module(module), name)
    return exporter() if endpoint.is_standard else exporter(endpoint=endpoint.url)


class Reported:
    """Says once that an endpoint takes nothing, and once that it does again."""

    def __init__(self, signal: Signal, endpoint: Endpoint) -> None:
        self._what = f"{signal} to {endpoint.shown}"
        self._fails = False

    def note(self, *, sent: bool) -> None:
        """Take note of how a batch fared."""
        if sent == self._fails:
            self._fails = not sent
            if sent:
                log.info("telemetry: sending %s works again", self._what)
            else:
                log.warning("telemetry: cannot send %s; what it misses is lost", self._what)


class MaskedSpans(SpanExporter):
    """Sends spans to an endpoint, without what is not to leave."""

    def __init__(self, exporter: SpanExporter, masker: Masker, reported: Reported) -> None:
        self._exporter = exporter
        self._masker = masker
        self._reported = reported

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        result = self._exporter.export([self._masker.span(span) for span in spans])
        self._reported.note(sent=result is SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """Send no more."""
        self._exporter.shutdown()


class ReportedLogs(LogRecordExporter):
    """Sends log records to an endpoint; they were masked when they were made."""

    def __init__(self, exporter: LogRecordExporter, severity: int, reported: Reported) -> None:
        self._exporter = exporter
        self._severity = severity
        self._reported = reported

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        """Send those of a batch that are severe enough."""
        chosen = at_least(batch, self._severity)
        if not chosen:
            return LogRecordExportResult.SUCCESS
        result = self._exporter.export(chosen)
        self._reported.note(sent=result is LogRecordExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """Send no more."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Have nothing to flush."""
        return True


class FollowedSpans(SpanExporter):
    """Sends spans to those who follow the channel."""

    def __init__(self, followers: Followers, masker: Masker) -> None:
        self._followers = followers
        self._masker = masker

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch, if anybody follows."""
        streams = self._followers.streams("traces")
        if streams:
            payload = spans_json([self._masker.span(span) for span in spans])
            for stream in streams:
                self._followers.publish(stream, payload)
        return SpanExportResult.SUCCESS


class FollowedLogs(LogRecordExporter):
    """Sends log records to those who follow a channel, each from its own severity on."""

    def __init__(self, followers: Followers) -> None:
        self._followers = followers

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        """Send to each level what is severe enough for it."""
        for stream in self._followers.streams("logs"):
            chosen = at_least(batch, stream.severity)
            if chosen:
                self._followers.publish(stream, logs_json(chosen))
        return LogRecordExportResult.SUCCESS

    def shutdown(self) -> None:
        """Have nothing to end."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Have nothing to flush."""
        return True


class FollowedMetrics(MetricExporter):
    """Sends metrics to those who follow the channel."""

    def __init__(self, followers: Followers) -> None:
        super().__init__()
        self._followers = followers

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object
    ) -> MetricExportResult:
        """Send all numbers, if anybody follows."""
        streams = self._followers.streams("metrics")
        if streams:
            payload = metrics_json(metrics_data)
            for stream in streams:
                self._followers.publish(stream, payload)
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Have nothing to flush."""
        return True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        """Have nothing to end."""


class ReportedMetrics(MetricExporter):
    """Sends metrics to an endpoint."""

    def __init__(self, exporter: MetricExporter, reported: Reported) -> None:
        # What the endpoint prefers, which the standard variables decide.
        super().__init__(exporter._preferred_temporality, exporter._preferred_aggregation)
        self._exporter = exporter
        self._reported = reported

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object
    ) -> MetricExportResult:
        """Send all numbers."""
        result = self._exporter.export(metrics_data, timeout_millis=timeout_millis)
        self._reported.note(sent=result is MetricExportResult.SUCCESS)
        return result

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Have nothing to flush."""
        return True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        """Send no more."""
        self._exporter.shutdown(timeout_millis=timeout_millis)


def at_least(batch: Sequence[ReadableLogRecord], severity: int) -> list[ReadableLogRecord]:
    """Return the records that are at least so severe."""
    return [record for record in batch if _severity(record) >= severity]


def _severity(record: ReadableLogRecord) -> int:
    number = record.log_record.severity_number
    return number.value if number is not None else 0
