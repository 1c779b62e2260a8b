"""Whatever a session shows, the actions make it show what it is to, and tell no more than that."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.customizations.tree_changes import MOST_SINGLE, tree_actions
from agenthost.protocol import reduce

Json = dict[str, Any]

entry = st.builds(
    lambda id, name: {"type": "directory", "id": f"c-{id}", "name": str(name)},
    st.integers(0, 25),
    st.integers(0, 2),
)
trees = st.lists(entry, unique_by=lambda each: each["id"], max_size=25)


def shown(state: Json) -> dict[str, Json]:
    return {each["id"]: each for each in state["customizations"]}


@given(st.none() | trees, trees)
def test_after_the_actions_it_shows_what_is_wanted(before: Any, wanted: Any) -> None:
    state: Json = {} if before is None else {"customizations": before}
    actions = tree_actions(before, wanted)
    for action in actions:
        state = reduce("session", state, action, now="2026-01-01T00:00:00.000Z")
    assert shown(state) == {each["id"]: each for each in wanted}
    assert tree_actions(state["customizations"], wanted) == []
    if before is not None and len(actions) <= MOST_SINGLE:
        told = [
            action.get("customization", action)["id"]
            for action in actions
            if "customizations" not in action
        ]
        assert not [id for id in told if shown({"customizations": before}).get(id) in wanted]


def test_what_is_not_known_yet_is_told_even_if_it_is_nothing() -> None:
    assert tree_actions(None, []) == [
        {"type": "session/customizationsChanged", "customizations": []}
    ]
    assert tree_actions([], []) == []
