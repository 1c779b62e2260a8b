"""The three signals of telemetry, and the names of their channels. Loads nothing."""

from __future__ import annotations

from typing import Literal, TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct

Signal: TypeAlias = Literal["logs", "traces", "metrics"]

SCHEME = "ahp-otlp://"
TRACES = f"{SCHEME}traces"
METRICS = f"{SCHEME}metrics"
# A template: with a level only what is at least that severe.
LOGS = f"{SCHEME}logs{{?level}}"

METHODS: dict[Signal, str] = {
    "logs": "otlp/exportLogs",
    "traces": "otlp/exportTraces",
    "metrics": "otlp/exportMetrics",
}
# Level -> the least severity number of OTLP.
SEVERITIES = {"trace": 1, "debug": 5, "info": 9, "warn": 13, "error": 17, "fatal": 21}


class Stream(Struct, frozen=True):
    """What one telemetry channel carries."""

    signal: Signal
    # The least severity of its records; of logs alone.
    severity: int = 1


def stream_of(uri: str) -> Stream | None:
    """Return what a channel of this name carries, or None if there is none of that name."""
    match uri:
        case "ahp-otlp://traces":
            return Stream("traces")
        case "ahp-otlp://metrics":
            return Stream("metrics")
        case "ahp-otlp://logs":
            return Stream("logs")
    for form in ("ahp-otlp://logs?", "ahp-otlp://logs/"):
        if uri.startswith(form):
            severity = SEVERITIES.get(_level(uri.removeprefix(form), is_query=form[-1] == "?"))
            return Stream("logs", severity) if severity is not None else None
    return None


def _level(text: str, *, is_query: bool) -> str:
    if not is_query:
        return text.lower()
    return dict(parse_qsl(text[:100])).get("level", "").lower()
