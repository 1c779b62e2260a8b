"""What holds for every reducer of the small channels, whatever the action."""

from __future__ import annotations

import copy
from typing import Any, cast

import pytest

from agenthost.protocol.reducer_registry import Kind, reducers
from agenthost.protocol.reduction import reduce_canonical
from agenthost.protocol.schema.unions import members_of, tags_of
from agenthost.protocol.wire_types import WIRE_TYPES
from tests.conformance import corpus
from tests.protocol.wire_samples import minimal, variants

KINDS = {
    "root": ("RootState", "RootAction"),
    "terminal": ("TerminalState", "TerminalAction"),
    "changeset": ("ChangesetState", "ChangesetAction"),
    "annotations": ("AnnotationsState", "AnnotationsAction"),
    "resourceWatch": ("ResourceWatchState", "ResourceWatchChangedAction"),
    "automation": ("AutomationState", "AutomationAction"),
    "automationRun": ("AutomationRunState", "AutomationRunAction"),
    "canvas": ("CanvasState", "CanvasStateChangedAction"),
}
ACTIONS = [
    (kind, member)
    for kind, (_, name) in KINDS.items()
    for member in members_of(WIRE_TYPES[name]) or (WIRE_TYPES[name],)
]


def states(kind: str) -> list[Any]:
    state = WIRE_TYPES[KINDS[kind][0]]
    return [minimal(state), *variants(state)]


@pytest.mark.parametrize(
    ("kind", "action_type"), ACTIONS, ids=lambda value: getattr(value, "__name__", value)
)
def test_no_action_trips_a_reducer_or_changes_its_input(kind: str, action_type: Any) -> None:
    for sample in (minimal(action_type), *variants(action_type)):
        optional = action_type.__optional_keys__ & sample.keys()
        nulled = [{**sample, key: None} for key in optional]
        for action in (sample, *nulled):
            for state in states(kind):
                before = copy.deepcopy((state, action))
                after = reduce_canonical(cast("Kind", kind), state, action, corpus.CLOCK)
                assert (state, action) == before
                # A reducer that gives an equal state gives the same one.
                assert after is state or corpus.spelled(after) != corpus.spelled(state)


def test_every_action_of_these_channels_has_a_reducer() -> None:
    known = {str(tag) for _, action_type in ACTIONS for tag in tags_of(action_type, "type")}
    assert known == {name for name in reducers if name.partition("/")[0] in KINDS}
