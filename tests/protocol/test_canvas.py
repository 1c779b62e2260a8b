"""The canvas channel's reducer, written from the schemas."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocol.samples import changes_nothing, frozen, reduced

CANVAS = frozen(
    {
        "instanceId": "i1",
        "extensionId": "demo",
        "canvasId": "preview",
        "title": "Preview",
        "url": "http://localhost:1234/",
    }
)


def _changed(canvas: Any) -> dict[str, Any]:
    return {"type": "canvas/stateChanged", "canvas": canvas}


def test_a_canvas_is_replaced_whole_so_that_what_is_left_out_is_gone() -> None:
    gone = {key: value for key, value in CANVAS.items() if key != "url"}
    after = reduced(CANVAS, _changed({**gone, "status": "stopped"}))
    assert after == {**gone, "status": "stopped"}
    assert reduced(after, _changed(dict(CANVAS))) == CANVAS


@pytest.mark.parametrize("action", [_changed(dict(CANVAS)), _changed(None)])
def test_an_equal_canvas_or_none_changes_nothing(action: dict[str, Any]) -> None:
    assert changes_nothing(CANVAS, action)


def test_a_canvas_action_without_a_canvas_changes_nothing() -> None:
    assert changes_nothing(CANVAS, {"type": "canvas/stateChanged"})
