"""Counters and gauges of a host in Prometheus' text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable


class Metrics:
    """What a host counts, and what it can be asked."""

    def __init__(self) -> None:
        # (name, labels) -> value; names end in _total.
        self._counters: Counter[tuple[str, str]] = Counter()
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
        shown = ",".join(f'{key}="{_escape(value)}"' for key, value in sorted(labels.items()))
        self._counters[(name, shown)] += amount

    def render(self) -> str:
        """Return everything as Prometheus reads it."""
        lines: list[str] = []
        for name, (help, read) in sorted(self._gauges.items()):
            lines += [f"# HELP {name} {help}", f"# TYPE {name} gauge", f"{name} {read()}"]
        for name, help in sorted(self._help.items()):
            lines += [f"# HELP {name} {help}", f"# TYPE {name} counter"]
            values = sorted(
                (labels, value) for (key, labels), value in self._counters.items() if key == name
            )
            for labels, value in values or [("", 0)]:
                lines.append(f"{name}{{{labels}}} {value}" if labels else f"{name} {value}")
        return "\n".join(lines) + "\n"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
