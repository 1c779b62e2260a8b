"""What reducers promise to touch of a state is all that they look at, and all that they change."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.protocol import NEWEST, SUPPORTED_VERSIONS, reduce
from agenthost.protocol.json_edits import same
from agenthost.protocol.reducer_registry import reducers
from agenthost.protocol.versions import touched_in
from tests.conformance import corpus
from tests.strategies import NOW, History, histories


def check(kind: str, state: dict[str, Any], action: dict[str, Any], version: str) -> None:
    touched = touched_in(version, action["type"])
    if touched is None:
        return
    after = reduce(kind, state, action, now=NOW, version=version)
    alone = {key: value for key, value in state.items() if key in touched}
    expected = reduce(kind, alone, action, now=NOW, version=version)
    assert same({key: after[key] for key in after if key in touched}, expected)
    others = state.keys() - touched
    assert after.keys() - touched == others
    assert all(after[key] is state[key] for key in others)


@given(histories(), st.sampled_from(SUPPORTED_VERSIONS))
def test_a_reducer_needs_and_changes_no_more_than_it_touches(
    history: History, version: str
) -> None:
    state = history.initial
    for action in history.actions:
        check(history.kind, state, action, version)
        state = reduce(history.kind, state, action, now=NOW)


def test_so_it_is_in_the_published_fixtures() -> None:
    for path in corpus.reducer_fixtures(NEWEST):
        fixture = corpus.read_reducer_fixture(path)
        state = fixture.initial
        for action in fixture.actions:
            check(fixture.kind, state, action, NEWEST)
            state = reduce(fixture.kind, state, action, now=corpus.CLOCK)


def test_a_version_that_reduces_otherwise_has_promised_nothing() -> None:
    promised = {name for name in reducers if touched_in(NEWEST, name) is not None}
    for version in SUPPORTED_VERSIONS:
        assert {name for name in reducers if touched_in(version, name) is not None} <= promised
    assert touched_in(NEWEST, "chat/draftChanged") == frozenset({"draft"})
    assert touched_in(NEWEST, "chat/fromTheFuture") is None
