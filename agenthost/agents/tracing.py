"""What libraries that speak OpenTelemetry need to take part in the trace of a turn.

Loads nothing of it: who is given one of these knows what is in it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TracingProviders:
    """Where a library sends its spans and metrics of one turn, and what they belong below."""

    # The turn's place in its trace, as the W3C header has it.
    traceparent: str
    # OpenTelemetry's TracerProvider and MeterProvider.
    tracer_provider: object
    meter_provider: object
