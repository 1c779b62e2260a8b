"""The root channel's reducers."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.reduction import reduce_canonical

NOW = "1970-01-01T00:00:09.999Z"

AGENT = {"provider": "demo", "displayName": "Demo", "description": "A demo", "models": []}
SCHEMA = {"type": "object", "properties": {}}


def reduce(state: Any, **action: Any) -> Any:
    return reduce_canonical("root", state, action, NOW)


@pytest.fixture
def state() -> dict[str, Any]:
    return {
        "agents": [AGENT],
        "activeSessions": 1,
        "terminals": [],
        "config": {"schema": SCHEMA, "values": {"theme": "dark", "size": 3}},
        "_meta": {"kept": None},
    }


@pytest.mark.parametrize(
    ("action_type", "field", "value"),
    [
        ("root/agentsChanged", "agents", [{**AGENT, "provider": "other"}]),
        ("root/activeSessionsChanged", "activeSessions", 4),
        ("root/terminalsChanged", "terminals", [{"resource": "ahp-terminal:/1", "title": "zsh"}]),
    ],
)
def test_a_list_or_count_is_replaced_and_the_rest_kept(
    state: dict[str, Any], action_type: str, field: str, value: Any
) -> None:
    after = reduce(state, type=action_type, **{field: value})
    assert after == {**state, field: value}
    assert after["config"] is state["config"]
    assert reduce(after, type=action_type, **{field: value}) is after


def test_one_active_session_is_not_the_boolean_true(state: dict[str, Any]) -> None:
    assert reduce(state, type="root/activeSessionsChanged", activeSessions=1) is state


def test_settings_are_merged_into_the_values(state: dict[str, Any]) -> None:
    after = reduce(state, type="root/configChanged", config={"size": 4, "new": None})
    assert after["config"] == {
        "schema": SCHEMA,
        "values": {"theme": "dark", "size": 4, "new": None},
    }


def test_settings_replace_the_values_when_told(state: dict[str, Any]) -> None:
    after = reduce(state, type="root/configChanged", config={"size": 4}, replace=True)
    assert after["config"] == {"schema": SCHEMA, "values": {"size": 4}}


@pytest.mark.parametrize("replace", [{}, {"replace": False}, {"replace": None}])
def test_settings_are_merged_unless_told(state: dict[str, Any], replace: dict[str, Any]) -> None:
    after = reduce(state, type="root/configChanged", config={"size": 4}, **replace)
    assert after["config"]["values"] == {"theme": "dark", "size": 4}


def test_settings_that_are_already_so_change_nothing(state: dict[str, Any]) -> None:
    assert reduce(state, type="root/configChanged", config={"theme": "dark"}) is state
    values = dict(state["config"]["values"])
    assert reduce(state, type="root/configChanged", config=values, replace=True) is state
    assert reduce(state, type="root/configChanged", config={}) is state


def test_true_is_not_one_in_a_setting(state: dict[str, Any]) -> None:
    state["config"]["values"]["flag"] = 1
    after = reduce(state, type="root/configChanged", config={"flag": True})
    assert after["config"]["values"]["flag"] is True


@pytest.mark.parametrize("config", [{}, {"config": None}])
def test_a_host_without_settings_takes_none(config: dict[str, Any]) -> None:
    state = {"agents": [], **config}
    assert reduce(state, type="root/configChanged", config={"a": 1}, replace=True) is state


def test_clients_may_change_settings_and_nothing_else() -> None:
    assert client_may_dispatch("root/configChanged")
    for action_type in (
        "root/agentsChanged",
        "root/activeSessionsChanged",
        "root/terminalsChanged",
    ):
        assert not client_may_dispatch(action_type)
