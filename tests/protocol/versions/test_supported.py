"""The list of versions and the table of what exists when."""

from __future__ import annotations

import pytest

from agenthost.protocol import reduction
from agenthost.protocol.reducer_registry import reducers
from agenthost.protocol.versions import (
    NEWEST,
    SUPPORTED_VERSIONS,
    exists_in,
    parse_version,
    translator,
)
from agenthost.protocol.versions.reduction import reducers_of
from agenthost.protocol.versions.steps import all_steps
from agenthost.protocol.versions.supported import (
    all_actions,
    introduced_in,
    kind_exists_in,
    method_exists_in,
    notification_exists_in,
    tolerated_in,
)


def test_versions_are_listed_newest_first() -> None:
    assert list(SUPPORTED_VERSIONS) == sorted(SUPPORTED_VERSIONS, key=parse_version, reverse=True)
    assert SUPPORTED_VERSIONS[0] == NEWEST


def test_the_steps_form_an_unbroken_ladder() -> None:
    assert tuple(step.newer for step in all_steps()) == SUPPORTED_VERSIONS[:-1]
    assert tuple(step.older for step in all_steps()) == SUPPORTED_VERSIONS[1:]


def test_the_newest_version_has_exactly_the_actions_that_we_reduce() -> None:
    assert reduction.REDUCER_MODULES
    assert all(exists_in(action_type, NEWEST) for action_type in reducers)
    assert len(reducers) == 106


@pytest.mark.parametrize(
    ("action_type", "since"),
    [
        ("session/activeClientSet", "0.5.0"),
        ("chat/draftChanged", "0.5.0"),
        ("session/inputNeededSet", "0.5.1"),
        ("chat/turnsLoaded", "0.5.1"),
        ("session/mcpServerStartRequested", "0.5.2"),
        ("chat/toolCallAuthRequired", "0.6.0"),
        ("changeset/filesReviewChanged", "0.6.0"),
        ("session/workingDirectorySet", "0.7.0"),
        ("chat/workingDirectoryRemoved", "0.7.0"),
        ("session/workingDirectoryReplaced", "0.8.0"),
        ("chat/turnResume", "0.9.0"),
        ("automation/set", "0.9.0"),
        ("automationRun/cancelRequested", "0.9.0"),
        ("chat/isReadChanged", "1.0.0"),
        ("session/chatsReordered", "1.0.0"),
        ("canvas/stateChanged", "1.0.0"),
    ],
)
def test_an_action_exists_from_the_version_that_introduced_it(action_type: str, since: str) -> None:
    assert introduced_in(action_type) == since
    for version in SUPPORTED_VERSIONS:
        expected = parse_version(version) >= parse_version(since)
        assert exists_in(action_type, version) is expected


@pytest.mark.parametrize(
    ("version", "count"), [("0.7.0", 85), ("0.8.0", 86), ("0.9.0", 96), ("1.0.0", 106)]
)
def test_a_version_has_as_many_actions_as_it_was_released_with(version: str, count: int) -> None:
    assert sum(exists_in(name, version) for name in all_actions()) == count


def test_names_of_implementations_belong_to_no_version() -> None:
    for version in SUPPORTED_VERSIONS:
        assert exists_in("x-acme/thing", version)
        assert notification_exists_in("x-acme/thing", version)
        assert kind_exists_in("x-acme", version)
        assert method_exists_in("x-acme/thing", version)
        action = {"type": "x-acme/thing", "n": 1}
        ladder = translator(version)
        assert ladder.action_down("x-acme", {}, action, {"n": 1}) == [action]
        assert ladder.action_up("x-acme", action, {}, now="") == action


@pytest.mark.parametrize(
    ("kind", "having"), [("automation", 2), ("automationRun", 2), ("canvas", 1), ("session", 8)]
)
def test_a_kind_of_channel_exists_from_the_version_that_introduced_it(
    kind: str, having: int
) -> None:
    known = [version for version in SUPPORTED_VERSIONS if kind_exists_in(kind, version)]
    assert known == list(SUPPORTED_VERSIONS[:having])


@pytest.mark.parametrize(
    ("method", "having"),
    [
        *(("listAutomationTriggerDefinitions", 2), ("runAutomation", 2)),
        *(("fetchAutomationRuns", 2), ("moveChat", 1), ("createSession", 8)),
    ],
)
def test_a_method_exists_from_the_version_that_introduced_it(method: str, having: int) -> None:
    known = [version for version in SUPPORTED_VERSIONS if method_exists_in(method, version)]
    assert known == list(SUPPORTED_VERSIONS[:having])


def test_only_editors_of_0_9_0_send_more_than_their_version_has() -> None:
    sent = {
        (name, v) for v in SUPPORTED_VERSIONS for name in all_actions() if tolerated_in(name, v)
    }
    assert sent == {
        ("chat/isReadChanged", "0.9.0"),
        ("chat/isArchivedChanged", "0.9.0"),
        ("session/mcpServerBackgroundRequested", "0.9.0"),
    }


def test_an_action_that_was_renamed_exists_in_one_version_only() -> None:
    having = [v for v in SUPPORTED_VERSIONS if exists_in("changeset/filesReviewedChanged", v)]
    assert having == ["0.5.2"]


def test_an_unknown_action_exists_nowhere() -> None:
    assert introduced_in("future/unknown") is None
    assert not any(exists_in("future/unknown", version) for version in SUPPORTED_VERSIONS)


def test_every_notification_exists_in_every_version_that_we_speak() -> None:
    for method in ("root/sessionAdded", "root/progress", "auth/required", "otlp/exportLogs"):
        assert all(notification_exists_in(method, version) for version in SUPPORTED_VERSIONS)
    assert not notification_exists_in("future/unknown", NEWEST)


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_each_version_reduces_exactly_the_actions_that_it_has(version: str) -> None:
    renamed = {"changeset/filesReviewedChanged"}
    expected = {name for name in {*reducers, *renamed} if exists_in(name, version)}
    assert set(reducers_of(version)) == expected
