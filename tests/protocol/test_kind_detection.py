"""A channel's kind is told by its state, in whatever order the members stand."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.envelopes import ChannelState
from agenthost.protocol.kind_detection import STATE_MARKS, kind_of_state
from agenthost.protocol.reducer_registry import KINDS, Kind
from agenthost.protocol.schema.unions import members_of
from tests.protocol.wire_samples import full, minimal

MEMBERS = members_of(ChannelState)
# The union is written in the table's order.
STATES = [(kind, state) for (kind, _), state in zip(STATE_MARKS, MEMBERS, strict=True)]


def test_every_kind_has_its_marks() -> None:
    assert sorted(kind for kind, _ in STATE_MARKS) == sorted(KINDS)


@pytest.mark.parametrize(("kind", "state"), STATES, ids=[kind for kind, _ in STATES])
def test_a_state_with_or_without_its_optional_members_gives_its_kind_away(
    kind: Kind, state: Any
) -> None:
    assert state.__name__.lower() == f"{kind}state".lower()
    assert kind_of_state(minimal(state)) == kind
    assert kind_of_state(full(state)) == kind


@pytest.mark.parametrize("state", [None, [], "text", {}, {"lifecycle": "ready"}])
def test_what_no_kind_has_is_of_none(state: Any) -> None:
    assert kind_of_state(state) is None
