"""The settings that the host adds to an agent's: what clients need to show them."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.host.channels.session.place_settings import PlaceChoices, with_place_settings
from agenthost.host.channels.settings import check_complete, sanitize

Json = dict[str, Any]
OWN: Json = {
    "type": "object",
    "properties": {"mode": {"type": "string", "title": "Mode", "default": "ask"}},
    "required": ["mode"],
}


def merged(choices: PlaceChoices, values: Json, own: Json = OWN) -> Any:
    return with_place_settings(own, choices, values)  # type: ignore[arg-type]


@pytest.mark.parametrize("isolation", ["folder", "worktree"])
def test_the_agents_settings_come_first_and_are_kept(isolation: str) -> None:
    schema = merged(PlaceChoices(True, "main", True), {"isolation": isolation})
    assert list(schema["properties"]) == ["mode", "isolation", "branch", "directory"]
    assert schema["required"] == ["mode"]
    assert "isolation" not in OWN["properties"]


def test_what_is_chosen_with_the_session_cannot_be_changed_later() -> None:
    schema = merged(PlaceChoices(True, "main", True), {"isolation": "worktree"})
    for name in ("isolation", "branch", "directory"):
        assert not schema["properties"][name].get("sessionMutable")


def test_an_agents_own_settings_of_these_names_give_way() -> None:
    mine = {"type": "number", "title": "Mine"}
    own = {**OWN, "properties": {"branch": mine, "isolation": mine}, "required": ["branch"]}
    schema = merged(PlaceChoices(), {}, own)
    assert list(schema["properties"]) == ["isolation"]
    assert schema["properties"]["isolation"]["type"] == "string"
    assert check_complete(schema, sanitize(schema, {})) is None


@pytest.mark.parametrize(
    ("choices", "values", "kept"),
    [
        (PlaceChoices(), {"isolation": "worktree"}, {"isolation": "folder"}),
        (
            PlaceChoices(True, "main"),
            {"isolation": "folder", "branch": "other"},
            {"isolation": "folder", "branch": "main"},
        ),
        (
            PlaceChoices(True, "other"),
            {"isolation": "worktree", "branch": "other"},
            {"isolation": "worktree", "branch": "other"},
        ),
        (PlaceChoices(True, "main"), {"isolation": 7}, {"isolation": "folder", "branch": "main"}),
        (
            PlaceChoices(has_folders=True),
            {"directory": "a/b"},
            {"isolation": "folder", "directory": "a/b"},
        ),
    ],
)
def test_values_that_cannot_be_chosen_are_replaced(
    choices: PlaceChoices, values: Json, kept: Json
) -> None:
    assert sanitize(merged(choices, values), values) == {"mode": "ask", **kept}
