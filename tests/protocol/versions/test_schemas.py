"""What is sent to clients of every version, against the schemas that were published for them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

from agenthost.protocol.versions import parse_version, reduce, translator
from tests.protocol.versions import published, schemas
from tests.protocol.versions.law import BIRTHS
from tests.strategies import NOW, History, histories

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
    assume(parse_version(version) >= parse_version(BIRTHS.get(history.kind, "0.0.0")))
    old = translator(version)
    before = history.initial
    for action in history.actions:
        after = reduce(history.kind, before, action, now=NOW)
        for sent in old.action_down(history.kind, before, action, after):
            wrong = [
                schemas.complaints(version, definition, sent)
                for definition in schemas.action_definitions(version, sent)
            ]
            assert wrong, f"{version} has no {sent['type']}"
            assert [] in wrong, f"{sent}\n{wrong}"
        before = after
    state = old.state_down(history.kind, before)
    assert not schemas.complaints(version, schemas.STATES[history.kind], state)
