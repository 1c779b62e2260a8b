"""Params of the notifications that a host sends beside actions: never stored, never replayed.

Types only; telemetry's are in ``telemetry``, and the envelope of an action is in ``envelopes``.
"""

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from agenthost.protocol.schema.scalars import URI, Channel, Number
from agenthost.protocol.session.state import PartialSessionSummary, SessionSummary
from agenthost.protocol.telemetry import (
    OtlpExportLogsParams,
    OtlpExportMetricsParams,
    OtlpExportTracesParams,
)

AuthRequiredReason: TypeAlias = Literal["required", "expired"]


class AuthRequiredParams(TypedDict):
    """A protected resource needs a token, or a new one."""

    channel: Channel
    resource: str
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
