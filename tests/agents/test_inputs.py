from __future__ import annotations

from typing import Any

import pytest

from agenthost.agents import inputs
from agenthost.agents.inputs import Answers, read_answers

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("question", "wire"),
    [
        (
            inputs.text("q", "Q?", min=1, max=9, format="email", default="x", title="T"),
            {"kind": "text", "required": True, "min": 1, "max": 9, "format": "email",
             "defaultValue": "x", "title": "T"},
        ),
        (
            inputs.number("q", "Q?", min=0, max=0.5, required=False),
            {"kind": "number", "required": False, "min": 0, "max": 0.5},
        ),
        (
            inputs.integer("q", "Q?", default=0),
            {"kind": "integer", "required": True, "defaultValue": 0},
        ),
        (
            inputs.boolean("q", "Q?", default=False),
            {"kind": "boolean", "required": True, "defaultValue": False},
        ),
        (
            inputs.choice("q", "Q?", ["a", {"id": "b", "label": "B", "description": "bee"}]),
            {"kind": "single-select", "required": True,
             "options": [{"id": "a", "label": "a"},
                         {"id": "b", "label": "B", "description": "bee"}]},
        ),
        (
            inputs.choices("q", "Q?", ["a"], freeform=True, min=0, max=2),
            {"kind": "multi-select", "required": True, "options": [{"id": "a", "label": "a"}],
             "allowFreeformInput": True, "min": 0, "max": 2},
        ),
    ],
)  # fmt: skip
def test_a_question_says_only_what_it_was_given(question: Json, wire: Json) -> None:
    assert question == {"id": "q", "message": "Q?", **wire}


def answered(response: str, **answers: Json) -> Json:
    request: Json = {"id": "r", "answers": answers} if answers else {"id": "r"}
    return {"kind": "inputRequest", "request": request, "response": response}


def value(kind: str, plain: Any, state: str = "submitted", **more: Any) -> Json:
    return {"state": state, "value": {"kind": kind, "value": plain, **more}}


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        (value("text", "Ann"), "Ann"),
        (value("number", 0), 0),
        (value("boolean", False), False),
        (value("selected", "a"), "a"),
        (value("selected", "", freeformValues=["mine"]), "mine"),
        (value("selected", "a", freeformValues=[]), "a"),
        (value("selected-many", ["a", "b"]), ["a", "b"]),
        (value("selected-many", ["a"], freeformValues=["mine"]), ["a", "mine"]),
        (value("text", "An", "draft"), "An"),
    ],
)
def test_answers_are_read_as_plain_values(answer: Json, plain: Any) -> None:
    answers = read_answers(answered("accept", q=answer))
    assert (bool(answers), answers["q"], answers.get("q")) == (True, plain, plain)


def test_what_is_skipped_or_left_open_is_not_there() -> None:
    answers = read_answers(answered("accept", q={"state": "skipped"}))
    assert answers.values == {}
    assert answers.get("q", "default") == "default"
    assert read_answers(answered("accept")).values == {}


@pytest.mark.parametrize("response", ["decline", "cancel"])
def test_without_acceptance_nothing_is_read(response: str) -> None:
    answers = read_answers(answered(response, q=value("text", "Ann")))
    assert (bool(answers), answers.response, answers.values) == (False, response, {})


def test_an_unanswered_question_cannot_be_taken_for_answered() -> None:
    with pytest.raises(KeyError):
        Answers("accept", {})["q"]
