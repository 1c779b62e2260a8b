"""The list of versions and the table of what exists when."""

from __future__ import annotations

import pytest

from agenthost.protocol import reduction
from agenthost.protocol.reducer_registry import reducers
from agenthost.protocol.versions import NEWEST, SUPPORTED_VERSIONS, exists_in, parse_version
from agenthost.protocol.versions.reduction import reducers_of
from agenthost.protocol.versions.steps import all_steps
from agenthost.protocol.versions.supported import introduced_in, notification_exists_in


def test_versions_are_listed_newest_first() -> None:
    assert list(SUPPORTED_VERSIONS) == sorted(SUPPORTED_VERSIONS, key=parse_version, reverse=True)
    assert SUPPORTED_VERSIONS[0] == NEWEST


def test_the_steps_form_an_unbroken_ladder() -> None:
    assert tuple(step.newer for step in all_steps()) == SUPPORTED_VERSIONS[:-1]
    assert tuple(step.older for step in all_steps()) == SUPPORTED_VERSIONS[1:]


def test_the_newest_version_has_exactly_the_actions_that_we_reduce() -> None:
    assert reduction.REDUCER_MODULES
    assert all(exists_in(action_type, NEWEST) for action_type in reducers)
    assert len(reducers) == 85


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
    ],
)
def test_an_action_exists_from_the_version_that_introduced_it(action_type: str, since: str) -> None:
    assert introduced_in(action_type) == since
    for version in SUPPORTED_VERSIONS:
        expected = parse_version(version) >= parse_version(since)
        assert exists_in(action_type, version) is expected


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
