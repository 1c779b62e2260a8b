"""Overlays: what pending actions made of one state, on the next."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.client.state.pending_overlay import PendingOverlay

Json = dict[str, Any]


def text(content: str) -> Json:
    return {"kind": "markdown", "id": "p", "content": content}


def turn(*parts: Json, **members: Any) -> Json:
    return {"id": "t", "responseParts": list(parts), **members}


CALL: Json = {"kind": "toolCall", "toolCall": {"status": "pending-confirmation"}}
RUNS: Json = {"kind": "toolCall", "toolCall": {"status": "running"}}
OLD = text("so")
TURN = frozenset({"activeTurn"})


def test_what_the_actions_removed_stays_removed() -> None:
    before = {"draft": "old", "title": "One"}
    overlay = PendingOverlay(before, {"title": "One"}, frozenset({"draft"}))
    assert overlay.moved_to({**before, "title": "Two"})
    assert overlay.result == {"title": "Two"}


def test_what_the_actions_left_alone_is_the_newer_state_itself() -> None:
    before = {"draft": "old", "title": "One"}
    overlay = PendingOverlay(before, before, frozenset({"draft"}))
    newer = {**before, "title": "Two"}
    assert overlay.moved_to(newer)
    assert overlay.result is newer


@pytest.mark.parametrize("touched", [None, frozenset({"title"})])
def test_actions_run_anew_where_what_they_touch_has_changed(touched: frozenset[str] | None) -> None:
    before = {"title": "One"}
    assert not PendingOverlay(before, {"title": "Mine"}, touched).moved_to({"title": "Two"})


def test_text_grows_below_a_change_to_its_turn() -> None:
    overlay = PendingOverlay({"activeTurn": turn(OLD, CALL)}, {"activeTurn": turn(OLD, RUNS)}, TURN)
    # Calls are the same objects, as they are where reducers only append text.
    assert overlay.moved_to({"activeTurn": turn(text("so far"), CALL)})
    assert overlay.result == {"activeTurn": turn(text("so far"), RUNS)}


@pytest.mark.parametrize(
    ("shown", "after"),
    [
        pytest.param(turn(text("mine")), turn(text("so far")), id="the text was changed too"),
        pytest.param(turn(), turn(text("so far")), id="the text is gone"),
        pytest.param(turn(OLD, RUNS), turn(OLD, CALL), id="a part came"),
        pytest.param(turn(OLD, x=1), turn({**CALL}), id="another part stands there"),
        pytest.param(turn(OLD, x=1), turn(OLD, usage={}), id="it has used something for once"),
        pytest.param(turn(OLD, x=1), {**turn(OLD), "id": "t2"}, id="another turn"),
        pytest.param(turn(OLD, x=1), None, id="no turn"),
    ],
)
def test_actions_run_anew_where_more_than_the_text_of_a_turn_has_changed(
    shown: Json, after: Json | None
) -> None:
    overlay = PendingOverlay({"activeTurn": turn(OLD)}, {"activeTurn": shown}, TURN)
    assert not overlay.moved_to({"activeTurn": after})
