"""What is sent to clients of every version, against the schemas that were published for them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings

from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.versions import Untranslatable, parse_version, reduce, translator
from tests.protocol.versions import published, schemas
from tests.protocol.versions.law import BIRTHS
from tests.strategies import NOW, History, histories

Json = dict[str, Any]

# The schemas of earlier versions describe nothing strictly enough to be worth asking.
VERSIONS = ("1.0.0", "0.9.0", "0.8.0", "0.7.0", "0.6.0", "0.5.2")

pytestmark = pytest.mark.skipif(
    not published.SCHEMAS.is_dir(),
    reason=f"no schemas at {published.SCHEMAS}; set AGENTHOST_SHARED",
)


@pytest.mark.parametrize("version", VERSIONS)
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


@pytest.mark.parametrize("version", VERSIONS)
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
    wrong = [
        schemas.complaints(version, definition, action)
        for definition in schemas.action_definitions(version, action)
    ]
    assert wrong, f"{version} has no {action['type']}"
    assert [] in wrong, f"{action}\n{wrong}"
