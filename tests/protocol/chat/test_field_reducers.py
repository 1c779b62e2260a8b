"""The chat channel's reducers for the small fields beside its turns."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocol.samples import (
    IDLE,
    IS_ARCHIVED,
    IS_READ,
    UNKNOWN_BIT,
    changes_nothing,
    idle_chat,
    reduced,
)

SHELL = {"id": "w1", "label": "Server", "startedAt": "x", "kind": "shell", "command": "serve"}
WORKER = {"id": "w2", "label": "Helper", "startedAt": "x", "kind": "subagent", "chat": "c2"}


def _work(work: Any) -> dict[str, Any]:
    return {"type": "chat/backgroundWorkSet", "work": work}


def _ended(id: str) -> dict[str, Any]:
    return {"type": "chat/backgroundWorkRemoved", "id": id}


def test_a_directory_given_to_an_inheriting_chat_becomes_its_only_one() -> None:
    state = reduced(idle_chat(), {"type": "chat/workingDirectorySet", "directory": "file:///a"})
    assert state["workingDirectories"] == ["file:///a"]
    state = reduced(state, {"type": "chat/workingDirectoryRemoved", "directory": "file:///a"})
    assert state["workingDirectories"] == []


def test_background_work_is_listed_replaced_in_place_and_gone_when_it_ends() -> None:
    state = reduced(idle_chat(), _work(SHELL), _work(WORKER))
    assert state["backgroundWork"] == [SHELL, WORKER]
    renamed = {**SHELL, "label": "Other"}
    state = reduced(state, _work(renamed), _ended("w2"))
    assert state["backgroundWork"] == [renamed]
    assert reduced(state, _ended("w1"))["backgroundWork"] == []


def test_background_work_outlives_the_turn() -> None:
    before = reduced(idle_chat(), _work(SHELL))
    started = {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": {}}
    done = {"type": "chat/turnComplete", "turnId": "t", "duration": 1}
    assert reduced(before, started, done)["backgroundWork"] == [SHELL]


@pytest.mark.parametrize("field", ["changesets", "canvases"])
def test_a_list_is_replaced_whole_and_an_empty_one_is_not_none(field: str) -> None:
    action = {"type": f"chat/{field}Changed"}
    state = reduced(idle_chat(), {**action, field: [{"resource": "x"}]})
    assert state[field] == [{"resource": "x"}]
    assert reduced(state, {**action, field: []})[field] == []
    assert field not in reduced(state, action)


@pytest.mark.parametrize(("name", "flag"), [("isRead", IS_READ), ("isArchived", IS_ARCHIVED)])
def test_a_flag_is_set_and_cleared_and_nothing_else_is(name: str, flag: int) -> None:
    action = {"type": f"chat/{name}Changed"}
    before = idle_chat(status=IDLE | UNKNOWN_BIT)
    state = reduced(before, {**action, name: True})
    assert state == {**before, "status": IDLE | UNKNOWN_BIT | flag}
    assert reduced(state, {**action, name: False}) == before


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (idle_chat(activity="x"), {"type": "chat/activityChanged", "activity": "x"}),
        (idle_chat(), {"type": "chat/activityChanged"}),
        (
            idle_chat(workingDirectories=["file:///a"]),
            {"type": "chat/workingDirectorySet", "directory": "file:///a"},
        ),
        (idle_chat(), {"type": "chat/workingDirectoryRemoved", "directory": "file:///a"}),
        (
            idle_chat(workingDirectories=[]),
            {"type": "chat/workingDirectoryRemoved", "directory": "file:///a"},
        ),
        (idle_chat(backgroundWork=[SHELL]), _work(dict(SHELL))),
        (idle_chat(backgroundWork=[SHELL]), _ended("w2")),
        (idle_chat(), _ended("w1")),
        (idle_chat(movable=True), {"type": "chat/movableChanged", "movable": True}),
        (idle_chat(), {"type": "chat/changesetsChanged"}),
        (idle_chat(canvases=[]), {"type": "chat/canvasesChanged", "canvases": []}),
        (idle_chat(), {"type": "chat/isReadChanged", "isRead": False}),
        (idle_chat(status=65), {"type": "chat/isArchivedChanged", "isArchived": True}),
    ],
    ids=lambda value: value.get("type", ""),
)
def test_what_changes_nothing_gives_back_the_same_object(
    state: Any, action: dict[str, Any]
) -> None:
    assert changes_nothing(state, action)
