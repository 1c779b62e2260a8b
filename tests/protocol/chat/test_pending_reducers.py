"""The chat channel's reducers for steering, the queue and the draft."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocol.samples import MESSAGE, NOW, THEN, USER, changes_nothing, idle_chat, reduced

OTHER = {"text": "other", "origin": USER}


def _queue(*ids: str) -> list[dict[str, Any]]:
    return [{"id": message_id, "message": MESSAGE} for message_id in ids]


def _set(kind: str, message_id: str, message: Any = MESSAGE) -> dict[str, Any]:
    return {"type": "chat/pendingMessageSet", "kind": kind, "id": message_id, "message": message}


def _removed(kind: str, message_id: str) -> dict[str, Any]:
    return {"type": "chat/pendingMessageRemoved", "kind": kind, "id": message_id}


def _reordered(*order: str) -> dict[str, Any]:
    return {"type": "chat/queuedMessagesReordered", "order": list(order)}


def _started(message_id: str | None) -> dict[str, Any]:
    action = {"type": "chat/turnStarted", "turnId": "t2", "startedAt": NOW, "message": MESSAGE}
    return {**action, "queuedMessageId": message_id}


def test_steering_has_one_slot_and_the_last_write_wins() -> None:
    state = reduced(idle_chat(), _set("steering", "a"), _set("steering", "b", OTHER))
    assert state["steeringMessage"] == {"id": "b", "message": OTHER}
    assert "queuedMessages" not in state
    assert state["modifiedAt"] == THEN


def test_a_message_is_queued_at_the_end_or_replaced_where_it_stands() -> None:
    state = reduced(
        idle_chat(), _set("queued", "a"), _set("queued", "b"), _set("queued", "a", OTHER)
    )
    assert state["queuedMessages"] == [{"id": "a", "message": OTHER}, *_queue("b")]


def test_a_queue_that_is_null_counts_as_none() -> None:
    state = reduced(idle_chat(queuedMessages=None), _set("queued", "a"))
    assert state["queuedMessages"] == _queue("a")


def test_removing_touches_only_the_kind_that_is_named() -> None:
    before = idle_chat(steeringMessage=_queue("a")[0], queuedMessages=_queue("a", "b"))
    assert "steeringMessage" not in reduced(before, _removed("steering", "a"))
    state = reduced(before, _removed("queued", "a"))
    assert (state["steeringMessage"], state["queuedMessages"]) == (_queue("a")[0], _queue("b"))


def test_an_emptied_queue_is_gone() -> None:
    before = idle_chat(queuedMessages=_queue("a"))
    assert "queuedMessages" not in reduced(before, _removed("queued", "a"))


def test_a_reordering_ignores_what_it_does_not_know_and_appends_what_it_does_not_name() -> None:
    before = idle_chat(queuedMessages=_queue("a", "b", "c", "d"))
    state = reduced(before, _reordered("d", "x", "b", "d"))
    assert state["queuedMessages"] == _queue("d", "b", "a", "c")


def test_a_turn_consumes_the_pending_message_it_came_from_in_either_place() -> None:
    before = idle_chat(steeringMessage=_queue("a")[0], queuedMessages=_queue("a", "b"))
    state = reduced(before, _started("a"))
    assert "steeringMessage" not in state
    assert state["queuedMessages"] == _queue("b")


@pytest.mark.parametrize("queue", [_queue("a"), []], ids=["the last one", "an empty queue"])
def test_a_turn_from_the_queue_leaves_no_empty_queue(queue: list[Any]) -> None:
    assert "queuedMessages" not in reduced(idle_chat(queuedMessages=queue), _started("a"))


@pytest.mark.parametrize("message_id", [None, "", "unknown"])
def test_a_turn_from_nowhere_leaves_pending_messages(message_id: str | None) -> None:
    before = idle_chat(steeringMessage=_queue("a")[0], queuedMessages=_queue("", "a"))
    state = reduced(before, _started(message_id))
    assert (state["steeringMessage"], state["queuedMessages"]) == (_queue("a")[0], _queue("", "a"))


def test_a_draft_is_shared_and_an_absent_one_clears_it() -> None:
    state = reduced(idle_chat(), {"type": "chat/draftChanged", "draft": MESSAGE})
    assert (state["draft"], state["modifiedAt"]) == (MESSAGE, THEN)
    assert "draft" not in reduced(state, {"type": "chat/draftChanged"})


FULL = idle_chat(steeringMessage=_queue("s")[0], queuedMessages=_queue("a", "b"), draft=MESSAGE)


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (FULL, _set("steering", "s", dict(MESSAGE))),
        (FULL, _set("queued", "b", dict(MESSAGE))),
        (FULL, _removed("steering", "a")),
        (FULL, _removed("queued", "s")),
        (idle_chat(), _removed("steering", "s")),
        (idle_chat(), _removed("queued", "a")),
        (idle_chat(queuedMessages=[]), _removed("queued", "a")),
        (idle_chat(), _reordered("a")),
        (idle_chat(queuedMessages=None), _reordered("a")),
        (FULL, _reordered()),
        (FULL, _reordered("a")),
        (FULL, _reordered("a", "b", "x")),
        (FULL, {"type": "chat/draftChanged", "draft": dict(MESSAGE)}),
        (idle_chat(), {"type": "chat/draftChanged"}),
    ],
    ids=lambda value: value.get("type", ""),
)
def test_what_changes_nothing_gives_back_the_same_object(
    state: Any, action: dict[str, Any]
) -> None:
    assert changes_nothing(state, action)
