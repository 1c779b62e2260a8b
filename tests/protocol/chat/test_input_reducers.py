"""The chat channel's reducers for input requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocol.samples import (
    ERROR,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_ARCHIVED,
    IS_READ,
    THEN,
    changes_nothing,
    chat,
    idle_chat,
    parts_of,
    reduced,
)

YES = {"state": "submitted", "value": {"kind": "boolean", "value": True}}
MAYBE = {"state": "draft", "value": {"kind": "boolean", "value": False}}
TEXT = {"kind": "markdown", "id": "m1", "content": ""}


def _part(request_id: str = "q1", response: str | None = None, **members: Any) -> dict[str, Any]:
    part = {"kind": "inputRequest", "request": {"id": request_id, **members}}
    return part if response is None else {**part, "response": response}


def _requested(request_id: str = "q1", **members: Any) -> dict[str, Any]:
    return {"type": "chat/inputRequested", "request": {"id": request_id, **members}}


def _answer(question: str, request_id: str = "q1", **members: Any) -> dict[str, Any]:
    action = {"type": "chat/inputAnswerChanged", "requestId": request_id, "questionId": question}
    return {**action, **members}


def _completed(request_id: str = "q1", **members: Any) -> dict[str, Any]:
    action = {"type": "chat/inputCompleted", "requestId": request_id, "response": "accept"}
    return {**action, **members}


def test_a_request_is_asked_at_the_end_of_the_turn_and_makes_the_chat_need_input() -> None:
    state = reduced(chat(TEXT, status=IN_PROGRESS | IS_READ | IS_ARCHIVED), _requested(message="?"))
    assert parts_of(state) == [TEXT, _part(message="?")]
    assert (state["status"], state["modifiedAt"]) == (INPUT_NEEDED | IS_ARCHIVED, THEN)


def test_an_open_request_asked_again_is_edited_in_place_and_keeps_its_answers() -> None:
    before = chat(_part(message="old", answers={"a": MAYBE}), TEXT)
    state = reduced(before, _requested(url="https://example.org"))
    assert parts_of(state) == [_part(url="https://example.org", answers={"a": MAYBE}), TEXT]


@pytest.mark.parametrize("answers", [{"b": YES}, {}])
def test_answers_that_come_with_a_request_replace_the_old_ones(answers: Any) -> None:
    before = chat(_part(answers={"a": MAYBE}))
    assert parts_of(reduced(before, _requested(answers=answers))) == [_part(answers=answers)]


def test_an_edited_request_without_answers_has_none() -> None:
    [part] = parts_of(reduced(chat(_part()), _requested(message="?")))
    assert part == _part(message="?")


def test_the_id_of_a_resolved_request_may_come_again_as_a_second_part() -> None:
    state = reduced(chat(_part(response="decline")), _requested())
    assert parts_of(state) == [_part(response="decline"), _part()]


def test_a_draft_answer_is_written_and_deleted_without_touching_status() -> None:
    state = reduced(chat(_part(answers={"a": YES}), status=ERROR), _answer("b", answer=MAYBE))
    assert parts_of(state) == [_part(answers={"a": YES, "b": MAYBE})]
    assert (state["status"], state["modifiedAt"]) == (ERROR, THEN)
    assert parts_of(reduced(state, _answer("b"))) == [_part(answers={"a": YES})]


@pytest.mark.parametrize("answers", [{"a": YES}, None])
def test_the_last_answer_deleted_takes_the_map_along(answers: Any) -> None:
    [part] = parts_of(reduced(chat(_part(answers=answers)), _answer("a")))
    assert part == _part()


def test_completion_lays_the_given_answers_over_the_drafts_and_stays_in_place() -> None:
    before = chat(_part(answers={"a": MAYBE, "b": MAYBE}), TEXT, status=INPUT_NEEDED | IS_READ)
    state = reduced(before, _completed(answers={"b": YES}))
    assert parts_of(state) == [_part(response="accept", answers={"a": MAYBE, "b": YES}), TEXT]
    assert (state["status"], state["modifiedAt"]) == (IN_PROGRESS | IS_READ, THEN)


@pytest.mark.parametrize("response", ["accept", "decline", "cancel"])
@pytest.mark.parametrize("answers", [{}, None])
def test_every_outcome_is_recorded_and_no_empty_map_with_it(response: str, answers: Any) -> None:
    action = _completed(response=response, answers=answers)
    [part] = parts_of(reduced(chat(_part(answers={})), action))
    assert part == _part(response=response)


def test_a_chat_needs_input_until_its_last_request_is_closed() -> None:
    before = chat(_part("q1"), _part("q2"), status=INPUT_NEEDED)
    state = reduced(before, _completed("q1"))
    assert state["status"] == INPUT_NEEDED
    assert reduced(state, _completed("q2"))["status"] == IN_PROGRESS


def test_of_two_open_requests_the_one_of_that_id_is_answered() -> None:
    state = reduced(chat(_part("q1"), _part("q2")), _answer("a", "q2", answer=YES))
    assert parts_of(state) == [_part("q1"), _part("q2", answers={"a": YES})]


@pytest.mark.parametrize(
    "action",
    [_answer("a", answer=YES), _answer("a"), _completed()],
    ids=["answer", "deleted answer", "completion"],
)
@pytest.mark.parametrize(
    "state",
    [idle_chat(status=ERROR), chat(TEXT), chat(_part("other")), chat(_part(response="accept"))],
    ids=["idle", "no request", "another request", "a closed request"],
)
def test_only_an_open_request_can_be_answered(state: Any, action: dict[str, Any]) -> None:
    assert changes_nothing(state, action)


@pytest.mark.parametrize("state", [idle_chat(), idle_chat(activeTurn=None)])
def test_nothing_can_be_asked_while_the_chat_is_idle(state: Any) -> None:
    assert changes_nothing(state, _requested())
    assert state["modifiedAt"] == THEN
