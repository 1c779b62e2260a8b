"""The reducers against the published fixtures and against the reference reducers' own results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agenthost.protocol.json_edits import same
from agenthost.protocol.reduction import reduce_canonical, timestamp
from tests.conformance import corpus
from tests.protocol.samples import frozen

VERSION = "0.7.0"
FIXTURES = corpus.reducer_fixtures(VERSION)
CHUNKS = 20 if (corpus.CONFORMANCE / VERSION / "differential.jsonl").is_file() else 0

Record = Callable[[str, object], None]


def outcome(sequence: corpus.Sequence) -> Any:
    state = sequence.initial
    for action in sequence.actions:
        state = reduce_canonical(sequence.kind, state, action, corpus.CLOCK)
    return state


@pytest.mark.parametrize(
    "path", corpus.parameters(FIXTURES, (fixture.stem for fixture in FIXTURES))
)
def test_a_published_fixture_gives_the_expected_state(path: Path, record_property: Record) -> None:
    fixture = corpus.read_reducer_fixture(path)
    initial = corpus.spelled(fixture.initial)

    state = outcome(fixture)

    record_property(*corpus.ran(VERSION, "reducers"))
    assert corpus.without_nulls(state) == corpus.without_nulls(fixture.expected)
    assert corpus.spelled(fixture.initial) == initial, "the initial state was mutated"


CHUNK = pytest.mark.parametrize(
    "chunk", corpus.parameters(range(CHUNKS), (f"{n + 1} of {CHUNKS}" for n in range(CHUNKS)))
)


@CHUNK
def test_random_sequences_end_exactly_as_in_the_reference(
    chunk: int, record_property: Record
) -> None:
    sequences = corpus.differential_sequences(VERSION)[chunk::CHUNKS]
    record_property(*corpus.ran(VERSION, "differential sequences", len(sequences)))
    for sequence in sequences:
        state = outcome(sequence)
        where = f"{sequence.name}, {sequence.kind}"
        assert corpus.spelled(state) == corpus.spelled(sequence.expected), where


@CHUNK
def test_no_step_mutates_its_input_and_a_step_without_effect_gives_back_the_same_object(
    chunk: int,
) -> None:
    for sequence in corpus.differential_sequences(VERSION)[chunk::CHUNKS]:
        state = frozen(sequence.initial)
        for step, action in enumerate(sequence.actions):
            after = reduce_canonical(sequence.kind, state, frozen(action), timestamp(step))
            where = f"{sequence.name}, {sequence.kind}, {action}"
            assert after is state or not same(after, state), where
            state = frozen(after)
            # Once more, at the same moment: what stamps the time may have no effect then.
            again = reduce_canonical(sequence.kind, state, frozen(action), timestamp(step))
            assert again is state or not same(again, state), where
