"""Where the published conformance data lies, and how its files read.

The data is not part of this repository. It is looked for beside it, or where the environment
variable AGENTHOST_SHARED says; tests that need it are skipped where it is not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("AGENTHOST_SHARED", REPOSITORY.parent / "shared"))
CONFORMANCE = SHARED / "conformance"

# Every sequence was recorded with the clock standing here, 9999 ms after the epoch.
CLOCK = "1970-01-01T00:00:09.999Z"

# The prefix of the properties by which tests say what they ran; see tests/conftest.py.
RAN = "conformance"


@dataclass(frozen=True)
class Sequence:
    """Actions on a state, and what must come of them."""

    version: str
    name: str
    kind: Any
    initial: Any
    actions: list[Any]
    expected: Any


@dataclass(frozen=True)
class RoundTrip:
    """A value that is decoded and encoded again, and what may come of it."""

    version: str
    name: str
    type: str
    input: Any
    acceptable_outputs: list[Any]


def reducer_fixtures(version: str) -> list[Path]:
    """Return the paths of a version's reducer fixtures."""
    return sorted((CONFORMANCE / version / "reducers").glob("*.json"))


def round_trip_fixtures(version: str) -> list[Path]:
    """Return the paths of a version's round-trip fixtures."""
    return sorted((CONFORMANCE / version / "round-trips").glob("*.json"))


def read_reducer_fixture(path: Path) -> Sequence:
    """Read a reducer fixture. In these, a null member counts as absent."""
    return _sequence(path.parents[1].name, path.stem, json.loads(path.read_text("utf-8")))


def read_round_trip(path: Path) -> RoundTrip:
    """Read a round-trip fixture. In these, null and absent differ."""
    raw = json.loads(path.read_text("utf-8"))
    version, outputs = path.parents[1].name, raw["acceptableOutputs"]
    return RoundTrip(version, path.stem, raw["type"], raw["input"], outputs)


def differential_sequences(version: str) -> list[Sequence]:
    """Read the random sequences with the reference reducers' exact results; null is null here."""
    path = CONFORMANCE / version / "differential.jsonl"
    if not path.is_file():
        return []
    lines = path.read_text("utf-8").splitlines()
    return [
        _sequence(version, f"line {number}", json.loads(line))
        for number, line in enumerate(lines, 1)
    ]


def without_nulls(value: Any) -> Any:
    """Return a JSON value with every null member dropped, at any depth."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def spelled(value: Any) -> str:
    """Spell a JSON value so that equal texts mean equal values, and true is not 1."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def ran(version: str, what: str, count: int = 1) -> tuple[str, object]:
    """Return the property by which a test says how much of the corpus it has run."""
    return f"{RAN}/{version}/{what}", count


def parameters(values: Iterable[Any], ids: Iterable[str]) -> list[Any]:
    """Return test parameters, or a single skipped one that says why there are none."""
    given = [pytest.param(value, id=name) for value, name in zip(values, ids, strict=True)]
    reason = f"no conformance data at {CONFORMANCE}; set AGENTHOST_SHARED"
    return given or [pytest.param(None, id="no data", marks=pytest.mark.skip(reason=reason))]


def _sequence(version: str, name: str, raw: dict[str, Any]) -> Sequence:
    return Sequence(version, name, raw["reducer"], raw["initial"], raw["actions"], raw["expected"])
