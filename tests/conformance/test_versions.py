"""The published fixtures of every version: its own reducers, the ladder, and its wire forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol import jsonrpc
from agenthost.protocol.schema.validation import validate_as
from agenthost.protocol.versions import (
    NEWEST,
    SUPPORTED_VERSIONS,
    Untranslatable,
    reduce,
    translator,
)
from agenthost.protocol.versions.ladder import Translator
from tests.conformance import corpus
from tests.protocol.versions.law import hold_the_law
from tests.strategies import History

Record = Callable[[str, object], None]

# The newest version's reducer fixtures have a test of their own.
REDUCERS = [path for version in SUPPORTED_VERSIONS[1:] for path in corpus.reducer_fixtures(version)]
ROUND_TRIPS = [
    path for version in SUPPORTED_VERSIONS for path in corpus.round_trip_fixtures(version)
]

CHUNKS = 10 if (corpus.CONFORMANCE / NEWEST / "differential.jsonl").is_file() else 0

# Milliseconds; the fixtures' clock.
CLOCK = 9999


def name(path: Path) -> str:
    return f"{path.parents[1].name}/{path.stem}"


@pytest.mark.parametrize("path", corpus.parameters(REDUCERS, map(name, REDUCERS)))
def test_an_older_versions_reducers_give_the_state_that_it_published(
    path: Path, record_property: Record
) -> None:
    fixture = corpus.read_reducer_fixture(path)
    initial = corpus.spelled(fixture.initial)
    state = fixture.initial

    for action in fixture.actions:
        state = reduce(fixture.kind, state, action, now=CLOCK, version=fixture.version)

    record_property(*corpus.ran(fixture.version, "reducers"))
    assert corpus.without_nulls(state) == corpus.without_nulls(fixture.expected)
    assert corpus.spelled(fixture.initial) == initial, "the initial state was mutated"


@pytest.mark.parametrize("path", corpus.parameters(REDUCERS, map(name, REDUCERS)))
def test_reducing_in_the_newest_version_gives_the_same_state_by_way_of_the_ladder(
    path: Path, record_property: Record
) -> None:
    fixture = corpus.read_reducer_fixture(path)
    old = translator(fixture.version)
    state = old.state_up(fixture.kind, fixture.initial)

    for action in fixture.actions:
        climbed = climb(old, fixture.kind, action, state)
        if climbed is not None:
            state = reduce(fixture.kind, state, climbed, now=CLOCK)

    record_property(*corpus.ran(fixture.version, "reducers by the ladder"))
    expected = corpus.without_nulls(fixture.expected)
    assert corpus.without_nulls(old.state_down(fixture.kind, state)) == expected


def climb(old: Translator, kind: str, action: Any, before: Any) -> Any:
    """Take an action up as a client of an older host does, which ignores what has no meaning."""
    try:
        return old.action_up(kind, action, before, now=corpus.CLOCK, sender="host")
    except Untranslatable:
        return None


@pytest.mark.parametrize(
    "chunk", corpus.parameters(range(CHUNKS), (f"{n + 1} of {CHUNKS}" for n in range(CHUNKS)))
)
def test_older_clients_follow_the_random_sequences_of_the_newest_version(chunk: int) -> None:
    for sequence in corpus.differential_sequences(NEWEST)[chunk::CHUNKS]:
        # What the reference leaves undefined is written as null there, and absent on any wire.
        initial, actions = map(corpus.without_nulls, (sequence.initial, sequence.actions))
        hold_the_law(History(sequence.kind, initial, actions))


@pytest.mark.parametrize("path", corpus.parameters(ROUND_TRIPS, map(name, ROUND_TRIPS)))
def test_a_published_value_is_valid_and_survives_decoding_and_encoding(
    path: Path, record_property: Record
) -> None:
    fixture = corpus.read_round_trip(path)
    raw = json.loads(path.read_text("utf-8"))
    # We keep what we do not know, and the fixture says what a keeper must come to.
    acceptable = (
        [raw["preservedOutput"]] if "preservedOutput" in raw else fixture.acceptable_outputs
    )

    value = round_trip(fixture.type, jsonrpc.dumps(fixture.input))

    record_property(*corpus.ran(fixture.version, "round-trips"))
    assert corpus.spelled(value) in map(corpus.spelled, acceptable)


def round_trip(type_name: str, frame: bytes) -> Any:
    if type_name == "JsonRpcMessage":
        return jsonrpc.loads(jsonrpc.encode(jsonrpc.decode(frame)))
    return jsonrpc.loads(jsonrpc.dumps(validate_as(type_name, jsonrpc.loads(frame))))
