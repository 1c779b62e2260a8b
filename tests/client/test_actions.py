"""The actions a client builds are what the protocol has, and plain values answer questions."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.client import actions
from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.schema.validation import validate_action

Json = dict[str, Any]

NOW = "2026-01-01T00:00:00.000Z"
PENDING = {"toolCallId": "k", "status": "pending-confirmation"}
REVIEW = {"toolCallId": "k", "status": "pending-result-confirmation"}
MESSAGE = actions.user_message("hi")
RESULT = {"success": True, "pastTenseMessage": "Done"}
REQUEST: Json = {
    "id": "r",
    "questions": [
        {"id": "name", "kind": "text", "message": "?"},
        {"id": "age", "kind": "integer", "message": "?"},
        {"id": "height", "kind": "number", "message": "?"},
        {"id": "sure", "kind": "boolean", "message": "?"},
        {
            "id": "one",
            "kind": "single-select",
            "message": "?",
            "options": [{"id": "a", "label": "First"}, {"id": "b", "label": "Second"}],
            "allowFreeformInput": True,
        },
        {
            "id": "many",
            "kind": "multi-select",
            "message": "?",
            "options": [{"id": "a", "label": "First"}, {"id": "b", "label": "Second"}],
        },
    ],
}


@pytest.mark.parametrize(
    "action",
    [
        actions.turn_started("t", MESSAGE, NOW),
        actions.turn_cancelled("t", 7),
        actions.pending_message("queued", "q", MESSAGE),
        actions.pending_message("steering", "q", MESSAGE),
        actions.approval("t", PENDING),
        actions.approval("t", PENDING, option="o", edited_input="ls"),
        actions.approval("t", REVIEW),
        actions.denial("t", PENDING),
        actions.denial("t", PENDING, option="o", reason="no", suggestion="do that", skip=True),
        actions.denial("t", REVIEW),
        actions.completion("t", "k", RESULT),
        actions.content_change("t", "k", [{"type": "text", "text": "so far"}]),
        actions.input_completed("r", "decline"),
        actions.input_completed("r", "accept", actions.answers_to(REQUEST, {"name": "Ada"})),
        actions.turn_started(
            "t",
            actions.user_message(
                "hi",
                attachments=[{"type": "simple", "label": "x", "modelRepresentation": "y"}],
                model="m",
                agent="file:///agent.md",
            ),
            NOW,
        ),
    ],
    ids=lambda action: action["type"],
)
def test_every_action_is_one_that_clients_may_dispatch(action: Json) -> None:
    assert validate_action(action) is action
    assert client_may_dispatch(action["type"])


@pytest.mark.parametrize(
    ("question", "given", "value"),
    [
        ("name", "Ada", {"kind": "text", "value": "Ada"}),
        ("name", "", {"kind": "text", "value": ""}),
        ("age", 36, {"kind": "number", "value": 36}),
        ("height", 1.7, {"kind": "number", "value": 1.7}),
        ("sure", False, {"kind": "boolean", "value": False}),
        ("one", "a", {"kind": "selected", "value": "a"}),
        ("one", "Second", {"kind": "selected", "value": "b"}),
        ("one", "third", {"kind": "selected", "value": "", "freeformValues": ["third"]}),
        ("many", ["b", "First"], {"kind": "selected-many", "value": ["b", "a"]}),
        ("many", [], {"kind": "selected-many", "value": []}),
    ],
)
def test_a_plain_value_answers_a_question_of_its_kind(
    question: str, given: Any, value: Json
) -> None:
    answers = actions.answers_to(REQUEST, {question: given})
    assert answers == {question: {"state": "submitted", "value": value}}
    validate_action(actions.input_completed("r", "accept", answers))


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("name", 7),
        ("age", "7"),
        ("age", True),
        ("sure", 1),
        ("sure", "yes"),
        ("one", ["a"]),
        ("many", "a"),
        ("many", ["c"]),
        ("nobody", "asked"),
    ],
)
def test_a_value_that_cannot_answer_is_an_error(question: str, given: Any) -> None:
    with pytest.raises(ValueError, match=question):
        actions.answers_to(REQUEST, {question: given})


def test_none_skips_and_a_spelled_out_answer_stands() -> None:
    spelled = {"state": "draft", "value": {"kind": "text", "value": "A"}}
    assert actions.answers_to(REQUEST, {"name": spelled, "age": None}) == {
        "name": spelled,
        "age": {"state": "skipped"},
    }


def test_a_single_question_needs_no_name() -> None:
    request = {"id": "r", "questions": [REQUEST["questions"][0]]}
    value = {"kind": "text", "value": "Ada"}
    assert actions.answers_to(request, "Ada") == {"name": {"state": "submitted", "value": value}}
    with pytest.raises(ValueError, match="name the question"):
        actions.answers_to(REQUEST, "Ada")
