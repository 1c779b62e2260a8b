"""Params of the notifications that a host sends beside actions: never stored, never replayed.

Types only; the envelope of an action is in ``envelopes``. The telemetry channels have no state:
they carry OTLP batches, and what is exported is the host's affair.
"""

from typing import Annotated, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.common import JsonObject, ProtectedResourceMetadata
from agenthost.protocol.schema.scalars import URI, Channel, Number, OpenWord
from agenthost.protocol.session.state import PartialSessionSummary, SessionSummary

AuthRequiredReason: TypeAlias = Annotated[Literal["required", "expired"], OpenWord()]


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


class AuthRequiredParams(TypedDict):
    """A protected resource needs a token, or a new one."""

    channel: Channel
    resource: ProtectedResourceMetadata
    reason: NotRequired[AuthRequiredReason]


class SessionAddedParams(TypedDict):
    """The catalogue has a new session."""

    channel: Channel
    summary: SessionSummary


class SessionRemovedParams(TypedDict):
    """The catalogue lost a session."""

    channel: Channel
    session: URI


class SessionSummaryChangedParams(TypedDict):
    """Some of a session's summary changed."""

    channel: Channel
    session: URI
    changes: PartialSessionSummary


class ProgressParams(TypedDict):
    """How far a long request is; done when ``progress`` equals ``total``."""

    channel: Channel
    progressToken: str
    progress: Number
    total: NotRequired[Number]
    message: NotRequired[str]


# The params of one of them; the method says which.
ProtocolNotification: TypeAlias = (
    AuthRequiredParams
    | SessionAddedParams
    | SessionRemovedParams
    | SessionSummaryChangedParams
    | ProgressParams
    | OtlpExportLogsParams
    | OtlpExportTracesParams
    | OtlpExportMetricsParams
)
