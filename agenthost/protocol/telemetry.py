"""The telemetry channels: stateless, carrying OTLP batches that the host exports.

Types only: there is no state, hence no reducer. What is exported is the host's affair.
"""

from typing import NotRequired

from typing_extensions import TypedDict

from agenthost.protocol.common import JsonObject
from agenthost.protocol.schema.scalars import URI, Channel


class TelemetryCapabilities(TypedDict):
    """Where telemetry can be subscribed to: URIs or templates; absent signals are not sent."""

    logs: NotRequired[URI]
    traces: NotRequired[URI]
    metrics: NotRequired[URI]


class OtlpExportLogsParams(TypedDict):
    """A batch of log records in OTLP/JSON."""

    channel: Channel
    payload: JsonObject


class OtlpExportTracesParams(TypedDict):
    """A batch of spans in OTLP/JSON."""

    channel: Channel
    payload: JsonObject


class OtlpExportMetricsParams(TypedDict):
    """A batch of metrics in OTLP/JSON."""

    channel: Channel
    payload: JsonObject
