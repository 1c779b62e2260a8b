"""The reducers against the published fixtures and against the reference reducers' own results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agenthost.protocol.json_edits import same
from agenthost.protocol.reduction import reduce_canonical, timestamp
from agenthost.protocol.versions import NEWEST, reduce
from tests.conformance import corpus
from tests.protocol.samples import frozen

FIXTURES = corpus.reducer_fixtures(NEWEST)

# The version of which there are random sequences; its reducers read a clock.
RANDOM = "0.7.0"
CHUNKS = 20 if (corpus.CONFORMANCE / RANDOM / "differential.jsonl").is_file() else 0

Record = Callable[[str, object], None]


@pytest.mark.parametrize("fixture", corpus.parameters(FIXTURES))
def test_a_published_fixture_gives_the_expected_state_whatever_the_time(
    fixture: corpus.Fixture, record_property: Record
) -> None:
    sequence = corpus.read_reducer_fixture(fixture)
    initial = corpus.spelled(sequence.initial)

    state = outcome(sequence, corpus.CLOCK)

    record_property(*corpus.ran(NEWEST, "reducers"))
    assert corpus.without_nulls(state) == corpus.without_nulls(sequence.expected)
    assert state == outcome(sequence, "2026-01-01T00:00:00.000Z"), "a clock was read"
    assert corpus.spelled(sequence.initial) == initial, "the initial state was mutated"


def outcome(sequence: corpus.Sequence, now: str) -> Any:
    state = sequence.initial
    for action in sequence.actions:
        state = reduce_canonical(sequence.kind, state, action, now)
    return state


CHUNK = pytest.mark.parametrize(
    "chunk", corpus.parameters(range(CHUNKS), (f"{n + 1} of {CHUNKS}" for n in range(CHUNKS)))
)


@CHUNK
def test_random_sequences_end_exactly_as_in_the_reference(
    chunk: int, record_property: Record
) -> None:
    sequences = corpus.differential_sequences(RANDOM)[chunk::CHUNKS]
    record_property(*corpus.ran(RANDOM, "differential sequences", len(sequences)))
    for sequence in sequences:
        state = sequence.initial
        for action in sequence.actions:
            state = reduce(sequence.kind, state, action, now=corpus.CLOCK, version=RANDOM)
        where = f"{sequence.name}, {sequence.kind}"
        assert corpus.spelled(state) == corpus.spelled(sequence.expected), where


@CHUNK
def test_no_step_mutates_its_input_and_a_step_without_effect_gives_back_the_same_object(
    chunk: int,
) -> None:
    for sequence in corpus.differential_sequences(RANDOM)[chunk::CHUNKS]:
        state = frozen(sequence.initial)
        for step, action in enumerate(sequence.actions):
            now = timestamp(step)
            after = reduce(sequence.kind, state, frozen(action), now=now, version=RANDOM)
            where = f"{sequence.name}, {sequence.kind}, {action}"
            assert after is state or not same(after, state), where
            state = frozen(after)
            # Once more, at the same moment: what stamps the time may have no effect then.
            again = reduce(sequence.kind, state, frozen(action), now=now, version=RANDOM)
            assert again is state or not same(again, state), where
