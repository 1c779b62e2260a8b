from __future__ import annotations

from typing import Any

import pytest

from agenthost.cli.headless.auto_answers import (
    ApprovalPolicy,
    GivenAnswers,
    chat_and_workers,
    read_answer,
)


def waiting(tool: str, status: str = "pending-confirmation") -> dict[str, Any]:
    return {"toolCallId": "c1", "toolName": tool, "status": status}


# Approvals


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ([], set()),
        (["never"], set()),
        (["always"], {"shell", "edit"}),
        (["tool=shell"], {"shell"}),
        (["tool=shell", "tool=edit"], {"shell", "edit"}),
        (["never", "tool=edit"], {"edit"}),
        (["always", "never"], {"shell", "edit"}),
    ],
)
def test_the_most_generous_word_counts(words: list[str], allowed: set[str]) -> None:
    policy = ApprovalPolicy.read(words)
    assert {tool for tool in ("shell", "edit") if policy.allow(waiting(tool))} == allowed


@pytest.mark.parametrize("word", ["", "maybe", "tool", "tool=", "shell"])
def test_a_word_that_is_no_policy_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="use never, always or tool=NAME"):
        ApprovalPolicy.read([word])


def test_a_decision_is_an_action_with_its_reason() -> None:
    approved = ApprovalPolicy.read(["always"]).decide("t1", waiting("shell"))
    assert approved["approved"] is True
    denied = ApprovalPolicy.read([]).decide("t1", waiting("shell"))
    assert denied["approved"] is False
    assert denied["reason"] == "denied"
    assert "--approve" in denied["reasonMessage"]
    reviewed = ApprovalPolicy.read([]).decide("t1", waiting("shell", "pending-result-confirmation"))
    assert reviewed["type"] == "chat/toolCallResultConfirmed"


# Answers

NAME = {"id": "name", "kind": "text", "message": "Name?", "required": True}
AGE = {"id": "age", "kind": "integer", "message": "Age?"}
REQUEST = {"id": "r1", "questions": [NAME, AGE]}


def test_a_request_is_answered_when_nothing_required_is_missing() -> None:
    answers = GivenAnswers.read(["name=Ada=Lovelace"])
    reply = answers.reply(REQUEST)
    assert (reply.problem, reply.is_bad_answer) == ("", False)
    assert reply.action["response"] == "accept"
    assert reply.action["answers"]["name"]["value"] == {"kind": "text", "value": "Ada=Lovelace"}
    assert answers.unused == []


@pytest.mark.parametrize("given", [[], ["age=3"], ["other=1"]])
def test_a_request_without_its_required_answer_is_declined(given: list[str]) -> None:
    reply = GivenAnswers.read(given).reply(REQUEST)
    assert reply.action["response"] == "decline"
    assert "--answer name=" in reply.problem
    assert not reply.is_bad_answer


def test_a_request_to_which_nothing_was_said_is_declined_though_all_is_optional() -> None:
    reply = GivenAnswers.read(["name=Ada"]).reply({"id": "r1", "questions": [AGE]})
    assert reply.action["response"] == "decline"
    assert "--answer age=" in reply.problem


def test_a_request_without_questions_is_declined() -> None:
    reply = GivenAnswers.read([]).reply({"id": "r1", "url": "https://example.org"})
    assert reply.action["response"] == "decline"
    assert reply.problem


def test_an_answer_that_does_not_fit_is_a_misfit() -> None:
    reply = GivenAnswers.read(["name=Ada", "age=old"]).reply(REQUEST)
    assert reply.action["response"] == "decline"
    assert reply.is_bad_answer
    assert "'old'" in reply.problem


def test_what_nobody_asked_for_is_known() -> None:
    answers = GivenAnswers.read(["name=Ada", "shoe=39"])
    answers.reply(REQUEST)
    assert answers.unused == ["shoe"]


@pytest.mark.parametrize("text", ["", "name", "=Ada"])
def test_an_answer_names_its_question(text: str) -> None:
    with pytest.raises(ValueError, match="ID=VALUE"):
        GivenAnswers.read([text])


OPTIONS = [{"id": "a", "label": "apple"}, {"id": "p", "label": "pear, green"}]


@pytest.mark.parametrize(
    ("question", "texts", "value"),
    [
        ({"kind": "text"}, ["a", "b"], "b"),
        ({"kind": "integer"}, ["3"], 3),
        ({"kind": "number"}, ["3.5"], 3.5),
        ({"kind": "boolean"}, ["Yes"], True),
        ({"kind": "boolean"}, ["off"], False),
        ({"kind": "single-select", "options": OPTIONS}, ["apple"], "apple"),
        ({"kind": "multi-select", "options": OPTIONS}, ["a,p"], ["a", "p"]),
        ({"kind": "multi-select", "options": OPTIONS}, ["a", "p"], ["a", "p"]),
        ({"kind": "multi-select", "options": OPTIONS}, ["pear, green"], ["pear, green"]),
        ({"kind": "multi-select", "options": OPTIONS}, [""], []),
    ],
)
def test_what_is_typed_is_read_as_the_question_wants_it(
    question: dict[str, Any], texts: list[str], value: Any
) -> None:
    assert read_answer({"id": "q", **question}, texts) == value


@pytest.mark.parametrize(("kind", "text"), [("integer", "1.5"), ("number", "x"), ("boolean", "si")])
def test_what_cannot_be_read_says_why(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match="q asks for"):
        read_answer({"id": "q", "kind": kind}, [text])


# Workers


def test_a_family_is_a_chat_and_whom_its_tools_set_to_work() -> None:
    chats: list[dict[str, Any]] = [
        {"resource": "main"},
        {"resource": "worker", "origin": {"kind": "tool", "chat": "main", "toolCallId": "1"}},
        {"resource": "helper", "origin": {"kind": "tool", "chat": "worker", "toolCallId": "2"}},
        {"resource": "fork", "origin": {"kind": "fork", "chat": "main", "turnId": "t"}},
        {"resource": "stranger", "origin": {"kind": "tool", "chat": "fork", "toolCallId": "3"}},
    ]
    assert chat_and_workers(chats, "main") == {"main", "worker", "helper"}
    assert chat_and_workers([], "main") == {"main"}


def test_a_family_that_goes_round_in_circles_ends() -> None:
    chats = [
        {"resource": "a", "origin": {"kind": "tool", "chat": "b"}},
        {"resource": "b", "origin": {"kind": "tool", "chat": "a"}},
    ]
    assert chat_and_workers(chats, "a") == {"a", "b"}
