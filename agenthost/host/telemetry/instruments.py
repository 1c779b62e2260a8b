"""The numbers that telemetry tells: how long turns, calls and waits take, and what the host counts.

Loads OpenTelemetry's interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from opentelemetry.metrics import CallbackOptions, Meter, Observation

if TYPE_CHECKING:
    from agenthost.host.http.metrics import MetricSample

# Different tools that are told apart; further ones are one.
MOST_TOOLS = 200
# Seconds, for what takes between a moment and a night.
_BOUNDARIES = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600, 36000)


ReadNumbers = Callable[[], Sequence["MetricSample"]]


class TurnInstruments:
    """How long turns, tool calls and the answers of people take."""

    def __init__(self, meter: Meter) -> None:
        self._turns = meter.create_histogram(
            "agenthost.turn.duration",
            "s",
            "How long turns take",
            explicit_bucket_boundaries_advisory=_BOUNDARIES,
        )
        self._calls = meter.create_histogram(
            "agenthost.tool_call.duration",
            "s",
            "How long tool calls take, with what they wait for",
            explicit_bucket_boundaries_advisory=_BOUNDARIES,
        )
        self._waits = meter.create_histogram(
            "agenthost.wait.duration",
            "s",
            "How long tool calls wait for people",
            explicit_bucket_boundaries_advisory=_BOUNDARIES,
        )
        self._tools: set[str] = set()

    def turn(self, seconds: float, agent: str, state: str) -> None:
        """Take note of a turn that has ended."""
        self._turns.record(seconds, {"gen_ai.agent.name": agent, "ahp.turn.state": state})

    def tool_call(self, seconds: float, tool: str, outcome: str) -> None:
        """Take note of a tool call that has ended."""
        if len(self._tools) < MOST_TOOLS:
            self._tools.add(tool)
        name = tool if tool in self._tools else "other"
        self._calls.record(seconds, {"gen_ai.tool.name": name, "ahp.outcome": outcome})

    def wait(self, seconds: float, kind: str, outcome: str) -> None:
        """Take note of what a tool call waited for."""
        self._waits.record(seconds, {"ahp.wait": kind, "ahp.outcome": outcome})


def observe_host(meter: Meter, read: ReadNumbers) -> None:
    """Tell the host's own numbers under the names that ``/metrics`` has for them."""
    for name, first in {number.name: number for number in read()}.items():
        create = (
            meter.create_observable_counter if first.is_counter else meter.create_observable_gauge
        )
        create(name, [_observer(name, read)], description=first.help)


def _observer(name: str, read: ReadNumbers) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(_: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(number.value, dict(number.labels))
            for number in read()
            if number.name == name
        ]

    return observe
