"""Where the published conformance data lies, and how its files read.

The data is not part of this repository. It is looked for beside it, or where the environment
variable AGENTHOST_SHARED says; tests that need it are skipped where it is not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("AGENTHOST_SHARED", REPOSITORY.parent / "shared"))
CONFORMANCE = SHARED / "conformance"

# Up to 0.8.0, whose reducers read a clock, it stands here: 9999 ms after the epoch.
CLOCK = "1970-01-01T00:00:09.999Z"

# The prefix of the properties by which tests say what they ran; see tests/conftest.py.
RAN = "conformance"


@dataclass(frozen=True)
class Fixture:
    """A file of the corpus, and the version that it is run for."""

    version: str
    path: Path

    @property
    def stem(self) -> str:
        """What the file is called."""
        return self.path.stem

    def __str__(self) -> str:
        return f"{self.version}/{self.stem}"


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


def reducer_fixtures(version: str) -> list[Fixture]:
    """Return the reducer fixtures that were published for a version."""
    paths = sorted((CONFORMANCE / version / "reducers").glob("*.json"))
    return [Fixture(version, path) for path in paths]


def round_trip_fixtures(version: str) -> list[Fixture]:
    """Return the round-trip fixtures that were published for a version."""
    paths = sorted((CONFORMANCE / version / "round-trips").glob("*.json"))
    return [Fixture(version, path) for path in paths]


def read_reducer_fixture(fixture: Fixture) -> Sequence:
    """Read a reducer fixture. In these, a null member counts as absent."""
    raw = json.loads(fixture.path.read_text("utf-8"))
    return _sequence(fixture.version, fixture.stem, raw)


def read_round_trip(fixture: Fixture) -> RoundTrip:
    """Read a round-trip fixture. In these, null and absent differ."""
    raw = json.loads(fixture.path.read_text("utf-8"))
    # We keep what we do not know, and where it matters a fixture says what a keeper must come to.
    kept = [raw["preservedOutput"]] if "preservedOutput" in raw else raw["acceptableOutputs"]
    return RoundTrip(fixture.version, fixture.stem, raw["type"], raw["input"], kept)


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


def parameters(values: Collection[Any], ids: Iterable[str] | None = None) -> list[Any]:
    """Return test parameters, or a single skipped one that says why there are none."""
    names = map(str, values) if ids is None else ids
    given = [pytest.param(value, id=name) for value, name in zip(values, names, strict=True)]
    reason = f"no conformance data at {CONFORMANCE}; set AGENTHOST_SHARED"
    return given or [pytest.param(None, id="no data", marks=pytest.mark.skip(reason=reason))]


def _sequence(version: str, name: str, raw: dict[str, Any]) -> Sequence:
    return Sequence(version, name, raw["reducer"], raw["initial"], raw["actions"], raw["expected"])
