"""How much of the published data the tests run: nothing is left out unnoticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.conformance import corpus, test_reducers, test_versions

pytestmark = pytest.mark.skipif(
    not corpus.CONFORMANCE.is_dir(),
    reason=f"no conformance data at {corpus.CONFORMANCE}; set AGENTHOST_SHARED",
)


def test_every_reducer_fixture_is_run_in_its_version() -> None:
    assert by_version([*test_reducers.FIXTURES, *test_versions.REDUCERS]) == {
        "1.0.0": 296,
        "0.9.0": 269,
        "0.8.0": 256,
        "0.7.0": 247,
        "0.6.0": 232,
        "0.5.0": 190,
    }


def test_every_kind_of_channel_with_published_fixtures_is_covered() -> None:
    kinds = Counter(corpus.read_reducer_fixture(f).kind for f in test_reducers.FIXTURES)
    assert kinds == {
        "chat": 149,
        "session": 90,
        "terminal": 19,
        "changeset": 17,
        "annotations": 10,
        "root": 7,
        "resourceWatch": 2,
        "automation": 2,
    }


def test_every_round_trip_is_run() -> None:
    assert by_version(test_versions.ROUND_TRIPS) == {
        "1.0.0": 67,
        "0.7.0": 39,
        "0.6.0": 26,
        "0.5.0": 23,
    }


def test_every_random_sequence_is_run() -> None:
    sequences = corpus.differential_sequences(test_reducers.RANDOM)
    chunks = [sequences[n :: test_reducers.CHUNKS] for n in range(test_reducers.CHUNKS)]
    assert (sum(map(len, chunks)), len(sequences)) == (2000, 2000)


def test_nothing_published_is_of_a_version_that_no_test_runs() -> None:
    published = {path.name for path in corpus.CONFORMANCE.iterdir() if path.is_dir()}
    assert published == set(by_version(test_versions.ROUND_TRIPS))


def by_version(fixtures: Iterable[corpus.Fixture]) -> Counter[str]:
    return Counter(fixture.version for fixture in fixtures)
