"""The reducers of the catalogue of automations and of their runs, written from the schemas."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocol.samples import NOW, THEN, changes_nothing, frozen, reduced

DEFINITION = {
    "title": "Nightly",
    "message": {"text": "look around", "origin": {"kind": "automation"}},
    "session": {"provider": "demo"},
    "enabled": True,
    "triggers": [],
}


def entry(id: str, **members: Any) -> dict[str, Any]:
    return {
        "resource": f"ahp-automation:/{id}",
        "definition": DEFINITION,
        "runs": [],
        "operations": ["run"],
        "createdAt": THEN,
        "modifiedAt": THEN,
        **members,
    }


def catalogue(*entries: Any, **members: Any) -> Any:
    return frozen({"entries": [*entries], **members})


def run(*sessions: str, **members: Any) -> Any:
    state = {
        "resource": "ahp-automation-run:/1",
        "automation": "ahp-automation:/a",
        "origin": {"kind": "manual"},
        "lifecycle": {"status": "pending", "createdAt": THEN},
        "sessions": [*sessions],
    }
    return frozen({**state, **members})


def _set(automation: Any) -> dict[str, Any]:
    return {"type": "automation/set", "automation": automation}


def _removed(resource: str) -> dict[str, Any]:
    return {"type": "automation/removed", "resource": resource}


def _on_run(name: str, **members: Any) -> dict[str, Any]:
    return {"type": f"automationRun/{name}", **members}


def test_an_automation_is_appended_or_replaced_whole_and_in_place() -> None:
    before = catalogue(entry("a", runCount=3, nextRunAt=NOW), entry("b"), _meta={"k": 1})
    state = reduced(before, _set(entry("c")))
    assert state == catalogue(*before["entries"], entry("c"), _meta={"k": 1})
    state = reduced(before, _set(entry("a", modifiedAt=NOW)))
    assert state["entries"] == [entry("a", modifiedAt=NOW), entry("b")]
    assert state["entries"][1] is before["entries"][1]


def test_a_removed_automation_is_gone_and_the_list_stays() -> None:
    state = reduced(catalogue(entry("a"), entry("b")), _removed("ahp-automation:/a"))
    assert state == catalogue(entry("b"))
    assert reduced(state, _removed("ahp-automation:/b")) == catalogue()


@pytest.mark.parametrize(
    "action",
    [
        {
            "type": "automation/createRequested",
            "resource": "ahp-automation:/new",
            "definition": DEFINITION,
        },
        {
            "type": "automation/updateRequested",
            "resource": "ahp-automation:/a",
            "changes": {"enabled": False},
        },
        _removed("ahp-automation:/unknown"),
        _set(entry("a")),
    ],
    ids=lambda action: action["type"],
)
def test_what_is_only_asked_for_changes_nothing_in_the_catalogue(action: dict[str, Any]) -> None:
    assert changes_nothing(catalogue(entry("a")), action)


def test_how_far_a_run_is_replaced_whole() -> None:
    running = {"status": "running", "createdAt": THEN, "startedAt": NOW}
    error = {"errorType": "e", "message": "m"}
    failed = {"status": "failed", "createdAt": THEN, "completedAt": NOW, "error": error}
    state = reduced(run("s1"), _on_run("lifecycleChanged", lifecycle=running))
    assert state == run("s1", lifecycle=running)
    assert reduced(state, _on_run("lifecycleChanged", lifecycle=failed))["lifecycle"] == failed
    assert changes_nothing(state, _on_run("lifecycleChanged", lifecycle=running))


def test_sessions_of_a_run_are_listed_once_in_the_order_they_came() -> None:
    state = reduced(run(), *(_on_run("sessionSet", session=name) for name in ("s2", "s1")))
    assert state["sessions"] == ["s2", "s1"]
    assert changes_nothing(state, _on_run("sessionSet", session="s2"))


def test_a_removed_session_is_no_longer_the_one_to_show() -> None:
    before = run("s1", "s2", primarySession="s1")
    state = reduced(before, _on_run("sessionRemoved", session="s2"))
    assert state == run("s1", primarySession="s1")
    assert reduced(state, _on_run("sessionRemoved", session="s1")) == run()


def test_a_session_that_is_not_listed_cannot_be_removed_even_if_it_is_shown() -> None:
    before = run("s1", primarySession="elsewhere")
    assert changes_nothing(before, _on_run("sessionRemoved", session="elsewhere"))


def test_the_session_to_show_is_named_and_taken_back() -> None:
    state = reduced(run("s1"), _on_run("primarySessionChanged", primarySession="s1"))
    assert state == run("s1", primarySession="s1")
    assert changes_nothing(state, _on_run("primarySessionChanged", primarySession="s1"))
    assert reduced(state, _on_run("primarySessionChanged")) == run("s1")


def test_asking_for_a_run_to_stop_does_not_stop_it() -> None:
    assert changes_nothing(run("s1"), _on_run("cancelRequested"))
