"""What goes on around a chat's turns, in words."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from agenthost.cli.format.chat_changes import (
    background_changes,
    canvas_fields,
    canvas_uris,
    change_line,
    work_text,
)

SHELL: Any = {"id": "a", "kind": "shell", "label": "Server", "command": "npm start"}
WORKER: Any = {"id": "b", "kind": "subagent", "label": "Research", "chat": "ahp-chat:/w"}


def test_background_work_is_told_when_it_begins_changes_and_ends() -> None:
    renamed = {**SHELL, "label": "Dev server"}
    states: list[Any] = [
        {},
        {"backgroundWork": [SHELL, WORKER]},
        {"backgroundWork": [renamed, WORKER]},
        {"backgroundWork": []},
    ]
    told = [list(background_changes(*pair)) for pair in pairwise(states)]
    assert told == [
        [("backgroundWork", {"work": SHELL}), ("backgroundWork", {"work": WORKER})],
        [("backgroundWork", {"work": renamed})],
        [("backgroundWorkEnded", {"work": renamed}), ("backgroundWorkEnded", {"work": WORKER})],
    ]
    assert list(background_changes(states[1], states[1])) == []


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (SHELL, "Server: npm start"),
        (WORKER, "Research"),
        ({**SHELL, "label": "npm start"}, "npm start"),
        ({**SHELL, "label": "", "command": "a\nb\x1b[31m"}, "a b"),
        ({"id": "c", "kind": "hologram", "label": ""}, "hologram"),
    ],
)
def test_work_is_one_line(work: Any, text: str) -> None:
    assert work_text(work) == text


def test_a_canvas_is_told_with_its_title_and_its_url() -> None:
    state = {
        "instanceId": "i",
        "extensionId": "demo",
        "canvasId": "preview",
        "title": "Preview",
        "status": "building",
        "url": "http://127.0.0.1:3000/",
    }
    fields = canvas_fields("ahp-canvas:/1", state)
    assert fields == {
        "canvas": "ahp-canvas:/1",
        "kind": "preview",
        "title": "Preview",
        "status": "building",
        "url": "http://127.0.0.1:3000/",
    }
    assert change_line("canvas", fields).text == "Preview · building · http://127.0.0.1:3000/"
    assert change_line("canvasClosed", fields).text == "Preview is closed"
    nameless = canvas_fields("ahp-canvas:/1", {})
    assert change_line("canvas", nameless).text == "ahp-canvas:/1"
    assert canvas_uris({"canvases": [{"resource": "ahp-canvas:/1"}]}) == ["ahp-canvas:/1"]
    assert canvas_uris({}) == []
