"""What is sent to clients of every version, against the schemas that were published for them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.versions import (
    SUPPORTED_VERSIONS,
    Untranslatable,
    parse_version,
    reduce,
    translator,
)
from tests.protocol.versions import published, schemas
from tests.protocol.versions.law import BIRTHS
from tests.simulation import messages
from tests.strategies import NOW, History, histories

Json = dict[str, Any]

pytestmark = pytest.mark.skipif(
    not published.SCHEMAS.is_dir(),
    reason=f"no schemas at {published.SCHEMAS}; set AGENTHOST_SHARED",
)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@settings(max_examples=40)
@given(history=histories())
def test_states_and_actions_are_what_the_version_describes(version: str, history: History) -> None:
    assume(knows(version, history))
    old = translator(version)
    before = history.initial
    for action in history.actions:
        after = reduce(history.kind, before, action, now=NOW)
        for sent in old.action_down(history.kind, before, action, after):
            assert_described(version, sent)
        before = after
    state = old.state_down(history.kind, before)
    assert not schemas.complaints(version, schemas.STATES[history.kind], state)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@settings(max_examples=40)
@given(history=histories())
def test_what_we_ask_of_an_older_host_is_what_its_version_describes(
    version: str, history: History
) -> None:
    assume(knows(version, history))
    state = history.initial
    for action in history.actions:
        if client_may_dispatch(action["type"]):
            for said in for_host(version, history.kind, state, action):
                assert_described(version, said)
        state = reduce(history.kind, state, action, now=NOW)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_commands_and_notifications_are_what_the_version_describes(version: str, seed: int) -> None:
    old, random = translator(version), Random(seed)
    told = {
        definition: old.notification_down(method, params(random))
        for method, (definition, params) in messages.NOTIFICATIONS.items()
    }
    told |= {
        definition: old.result_down(method, {}, result(random))
        for method, (definition, result) in messages.RESULTS.items()
        if old.has_method(method)
    }
    told |= {
        definition: asked(version, method, params(random))
        for method, (definition, params) in messages.PARAMS.items()
        if old.has_method(method)
    }
    for definition, value in told.items():
        # Where there is nothing to say or no way to say it, nothing is sent.
        wrong = [] if value is None else schemas.complaints(version, definition, value)
        assert not wrong, f"{value}\n{wrong}"


def asked(version: str, method: str, params: Json) -> Any:
    try:
        return translator(version).params_down(method, params)
    except Untranslatable:
        return None


def for_host(version: str, kind: str, before: Json, action: Json) -> list[Json]:
    # What changes nothing here may well change something where it arrives.
    after = {**reduce(kind, before, action, now=NOW)}
    try:
        return translator(version).action_down(kind, before, action, after, sender="client")
    except Untranslatable:
        return []


def knows(version: str, history: History) -> bool:
    return parse_version(version) >= parse_version(BIRTHS.get(history.kind, "0.0.0"))


def assert_described(version: str, action: Json) -> None:
    wrong = schemas.complaints_about_action(version, action)
    assert not wrong, f"{action}\n{wrong}"
