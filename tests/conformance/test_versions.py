"""The published fixtures of every version: its own reducers, the ladder, and its wire forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agenthost.protocol import jsonrpc
from agenthost.protocol.schema.validation import validate_as
from agenthost.protocol.versions import (
    SUPPORTED_VERSIONS,
    Untranslatable,
    reduce,
    translator,
)
from agenthost.protocol.versions.ladder import Translator
from tests.conformance import corpus, derived
from tests.conformance.test_reducers import RANDOM
from tests.protocol.versions.law import hold_the_law, timed
from tests.strategies import History

Record = Callable[[str, object], None]

# The newest version's reducer fixtures have a test of their own.
REDUCERS = [
    *derived.fixtures_of_0_9_0(),
    *derived.fixtures_of_0_8_0(),
    *(f for version in SUPPORTED_VERSIONS[1:] for f in corpus.reducer_fixtures(version)),
]
ROUND_TRIPS = [f for version in SUPPORTED_VERSIONS for f in corpus.round_trip_fixtures(version)]

CHUNKS = 10 if (corpus.CONFORMANCE / RANDOM / "differential.jsonl").is_file() else 0

# Milliseconds; the fixtures' clock.
CLOCK = 9999


@pytest.mark.parametrize("fixture", corpus.parameters(REDUCERS))
def test_an_older_versions_reducers_give_the_state_that_it_published(
    fixture: corpus.Fixture, record_property: Record
) -> None:
    sequence = corpus.read_reducer_fixture(fixture)
    initial = corpus.spelled(sequence.initial)
    state = sequence.initial

    for action in sequence.actions:
        state = reduce(sequence.kind, state, action, now=CLOCK, version=fixture.version)

    record_property(*corpus.ran(fixture.version, "reducers"))
    assert corpus.without_nulls(state) == corpus.without_nulls(sequence.expected)
    assert corpus.spelled(sequence.initial) == initial, "the initial state was mutated"


@pytest.mark.parametrize("fixture", corpus.parameters(REDUCERS))
def test_reducing_in_the_newest_version_gives_the_same_state_by_way_of_the_ladder(
    fixture: corpus.Fixture, record_property: Record
) -> None:
    sequence = corpus.read_reducer_fixture(fixture)
    old = translator(fixture.version)
    # What is undefined is written as null here, and absent on any wire.
    initial, actions = map(corpus.without_nulls, (sequence.initial, sequence.actions))
    state = old.state_up(sequence.kind, initial)

    for action in actions:
        for climbed in climb(old, sequence.kind, action, state):
            state = reduce(sequence.kind, state, climbed, now=CLOCK)

    record_property(*corpus.ran(fixture.version, "reducers by the ladder"))
    shown = old.state_down(sequence.kind, state)
    expected = corpus.without_nulls(sequence.expected)
    assert timed(corpus.without_nulls(shown), old.version) == timed(expected, old.version)


def climb(old: Translator, kind: str, action: Any, before: Any) -> list[Any]:
    """Take an action up as a client of an older host does, which ignores what has no meaning."""
    try:
        return old.actions_up(kind, action, before, now=corpus.CLOCK)
    except Untranslatable:
        return []


@pytest.mark.parametrize(
    "chunk", corpus.parameters(range(CHUNKS), (f"{n + 1} of {CHUNKS}" for n in range(CHUNKS)))
)
def test_older_clients_follow_the_random_sequences(chunk: int) -> None:
    for sequence in corpus.differential_sequences(RANDOM)[chunk::CHUNKS]:
        hold_the_law(climbed(sequence))


def climbed(sequence: corpus.Sequence) -> History:
    """Take a sequence up to the newest version, as a host does whose clients are older."""
    old, kind = translator(sequence.version), sequence.kind
    initial, actions = map(corpus.without_nulls, (sequence.initial, sequence.actions))
    history = History(kind, old.state_up(kind, initial), [])
    state: Any = history.initial
    for action in actions:
        for meant in climb(old, kind, action, state):
            history.actions.append(meant)
            state = reduce(kind, state, meant, now=CLOCK)
    return history


@pytest.mark.parametrize("fixture", corpus.parameters(ROUND_TRIPS))
def test_a_published_value_is_valid_and_survives_decoding_and_encoding(
    fixture: corpus.Fixture, record_property: Record
) -> None:
    expected = corpus.read_round_trip(fixture)

    value = round_trip(expected.type, jsonrpc.dumps(expected.input))

    record_property(*corpus.ran(fixture.version, "round-trips"))
    assert corpus.spelled(value) in map(corpus.spelled, expected.acceptable_outputs)


def round_trip(type_name: str, frame: bytes) -> Any:
    if type_name == "JsonRpcMessage":
        return jsonrpc.loads(jsonrpc.encode(jsonrpc.decode(frame)))
    return jsonrpc.loads(jsonrpc.dumps(validate_as(type_name, jsonrpc.loads(frame))))
