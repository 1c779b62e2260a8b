"""Counters and gauges of a host in Prometheus' text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

Labels: TypeAlias = tuple[tuple[str, str], ...]


class MetricSample(Struct, frozen=True):
    """One number of a host, as it is now."""

    name: str
    help: str
    value: float
    # Whether it only grows.
    is_counter: bool
    # What tells it from others of its name.
    labels: Labels = ()


class Metrics:
    """What a host counts, and what it can be asked."""

    def __init__(self) -> None:
        # (name, labels) -> value; names end in _total.
        self._counters: Counter[tuple[str, Labels]] = Counter()
        self._help: dict[str, str] = {}
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """Register a value that is read when the metrics are."""
        self._gauges[name] = (help, read)

    def counter(self, name: str, help: str) -> None:
        """Register a counter, so that it shows before it first counts."""
        self._help[name] = help

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to a counter."""
        self._counters[(name, tuple(sorted(labels.items())))] += amount

    def samples(self) -> list[MetricSample]:
        """Return every number, gauges first; any thread may ask."""
        samples = [
            MetricSample(name, help, read(), is_counter=False)
            for name, (help, read) in sorted(self._gauges.items())
        ]
        # At once, for the host goes on counting meanwhile.
        counted = sorted(self._counters.copy().items())
        for name, help in sorted(self._help.items()):
            values = [(labels, value) for (key, labels), value in counted if key == name]
            samples += [
                MetricSample(name, help, value, is_counter=True, labels=labels)
                for labels, value in values or [((), 0)]
            ]
        return samples

    def render(self) -> str:
        """Return everything as Prometheus reads it."""
        lines: list[str] = []
        last = ""
        for sample in self.samples():
            if sample.name != last:
                last, kind = sample.name, "counter" if sample.is_counter else "gauge"
                lines += [f"# HELP {last} {sample.help}", f"# TYPE {last} {kind}"]
            shown = ",".join(f'{key}="{_escape(value)}"' for key, value in sample.labels)
            lines.append(f"{last}{{{shown}}} {sample.value}" if shown else f"{last} {sample.value}")
        return "\n".join(lines) + "\n"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
