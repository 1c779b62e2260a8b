"""The names of telemetry channels."""

from __future__ import annotations

import pytest

from agenthost.host.telemetry.signals import Stream, stream_of


@pytest.mark.parametrize(
    ("uri", "stream"),
    [
        ("ahp-otlp://traces", Stream("traces")),
        ("ahp-otlp://metrics", Stream("metrics")),
        ("ahp-otlp://logs", Stream("logs", 1)),
        ("ahp-otlp://logs?level=warn", Stream("logs", 13)),
        ("ahp-otlp://logs?level=WARN", Stream("logs", 13)),
        ("ahp-otlp://logs/error", Stream("logs", 17)),
        ("ahp-otlp://logs?level=trace", Stream("logs", 1)),
        ("ahp-otlp://logs?level=fatal", Stream("logs", 21)),
    ],
)
def test_a_name_says_what_a_channel_carries(uri: str, stream: Stream) -> None:
    assert stream_of(uri) == stream


@pytest.mark.parametrize(
    "uri",
    [
        "ahp-otlp://",
        "ahp-otlp://traces/x",
        "ahp-otlp://traces?level=info",
        "ahp-otlp://logs?level=loud",
        "ahp-otlp://logs?",
        "ahp-otlp://logs/",
        "ahp-otlp://logs{?level}",
        "ahp-session:/logs",
    ],
)
def test_other_names_are_none(uri: str) -> None:
    assert stream_of(uri) is None
