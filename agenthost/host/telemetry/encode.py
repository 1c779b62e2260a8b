"""OTLP/JSON of spans, log records and metrics, as the ``ahp-otlp:`` channels carry it.

The SDK's own encoders make the export request; what its JSON mapping writes otherwise than OTLP
wants it is put right here: ids are hexadecimal and not base64, enumerations are numbers.

Loads OpenTelemetry, so only threads beside the host's loop import this.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.trace import ReadableSpan

    from agenthost.protocol.common import JsonObject

# The members that are ids. Attributes are lists of keys and values, so none of theirs is meant.
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})


def spans_json(spans: Sequence[ReadableSpan]) -> JsonObject:
    """Return an OTLP/JSON export request of spans."""
    return _json(encode_spans(spans))


def logs_json(records: Sequence[ReadableLogRecord]) -> JsonObject:
    """Return an OTLP/JSON export request of log records."""
    return _json(encode_logs(records))


def metrics_json(data: MetricsData) -> JsonObject:
    """Return an OTLP/JSON export request of metrics."""
    return _json(encode_metrics(data))


def _json(message: Message) -> JsonObject:
    request: JsonObject = MessageToDict(message, use_integers_for_enums=True)
    _correct_ids(request)
    return request


def _correct_ids(value: Any) -> None:
    match value:
        case dict():
            for name, held in value.items():
                if name in _IDS and isinstance(held, str):
                    value[name] = base64.b64decode(held).hex()
                else:
                    _correct_ids(held)
        case list():
            for item in value:
                _correct_ids(item)
