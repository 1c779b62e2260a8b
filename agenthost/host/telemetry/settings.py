"""What telemetry was told to do: by the standard environment variables, and by the root config.

The environment wins: who starts the host decides where it sends anything. Loads nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from agenthost.host.telemetry.signals import SEVERITIES, Signal

_SIGNALS: tuple[Signal, ...] = ("traces", "metrics", "logs")
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Endpoint(Struct, frozen=True):
    """Where one signal is sent to."""

    url: str
    # http/protobuf or grpc.
    protocol: str = "http/protobuf"
    # Whether the environment says all of it, so that OpenTelemetry reads it by itself.
    is_standard: bool = False

    @property
    def shown(self) -> str:
        """The address, for people: without what might be a secret in it."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class TelemetrySettings(Struct, frozen=True):
    """What telemetry was told to do."""

    # Nothing at all, not for subscribers either.
    is_disabled: bool = False
    endpoints: tuple[tuple[Signal, Endpoint], ...] = ()
    # The least severity of log records that are sent to an endpoint.
    severity: int = SEVERITIES["info"]
    # What is wrong with the settings, for people.
    problems: tuple[str, ...] = ()

    @property
    def wants_export(self) -> bool:
        """Whether anything is to be sent anywhere."""
        return bool(self.endpoints) and not self.is_disabled


def read_settings(
    endpoint: str = "", level: str = "", environ: Mapping[str, str] | None = None
) -> TelemetrySettings:
    """Read the environment; ``endpoint`` and ``level`` are the root config's."""
    env = os.environ if environ is None else environ
    problems: list[str] = []
    endpoints: list[tuple[Signal, Endpoint]] = []
    for signal in _SIGNALS:
        if env.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower() == "none":
            continue
        found = _from_environment(signal, env) or _from_config(signal, endpoint)
        if found is None:
            continue
        problem = _problem(found)
        if problem is None:
            endpoints.append((signal, found))
        elif problem not in problems:
            problems.append(problem)
    return TelemetrySettings(
        is_disabled=env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true",
        endpoints=tuple(endpoints),
        severity=SEVERITIES.get(level.lower(), SEVERITIES["info"]),
        problems=tuple(problems),
    )


def _from_environment(signal: Signal, env: Mapping[str, str]) -> Endpoint | None:
    own = env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "").strip()
    shared = env.get(_ENDPOINT, "").strip()
    if not own and not shared:
        return None
    protocol = env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or env.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"
    )
    return Endpoint(own or shared, protocol.strip().lower(), is_standard=True)


def _from_config(signal: Signal, endpoint: str) -> Endpoint | None:
    base = endpoint.strip().rstrip("/")
    return Endpoint(f"{base}/v1/{signal}") if base else None


def _problem(endpoint: Endpoint) -> str | None:
    if endpoint.protocol not in ("http/protobuf", "grpc"):
        return f"telemetry cannot be sent by {endpoint.protocol!r}; use http/protobuf or grpc"
    if endpoint.protocol == "grpc":
        return None
    try:
        parts = urlsplit(endpoint.url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_address = is_address and (parts.port is None or parts.port > 0)
    except ValueError:
        is_address = False
    return None if is_address else "telemetry's endpoint is no http:// or https:// address"
