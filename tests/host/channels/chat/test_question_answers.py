"""Answers to input requests: which ones fit, which ones complete, and what is said otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.chat.question_answers import check_answer, find_open_request
from agenthost.host.channels.rule_context import RuleContext
from agenthost.host.channels.ruled_kind import check

State = Any
READY: State = {"lifecycle": "ready"}
CONTEXT = RuleContext("me", READY)
OPTIONS = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]


def question(kind: str, **extra: Any) -> State:
    return {"kind": kind, "id": "q", "message": "?", **extra}


def submitted(kind: str, value: Any, **extra: Any) -> State:
    return {"state": "submitted", "value": {"kind": kind, "value": value, **extra}}


def draft(kind: str, value: Any, **extra: Any) -> State:
    return {**submitted(kind, value, **extra), "state": "draft"}


def chat(*questions: State, answers: State | None = None, **part: Any) -> State:
    request: State = {"id": "r", "questions": list(questions)}
    if answers is not None:
        request["answers"] = answers
    parts = [{"kind": "inputRequest", "request": request, **part}]
    turn = {"id": "t", "responseParts": parts}
    return {"resource": "ahp-chat:/1", "turns": [], "activeTurn": turn}


def change(state: State, **action: Any) -> str | None:
    default = {"type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "q"}
    return check(state, {**default, **action}, CONTEXT)


def finish(state: State, response: str = "accept", **action: Any) -> str | None:
    default = {"type": "chat/inputCompleted", "requestId": "r", "response": response}
    return check(state, {**default, **action}, CONTEXT)


# Which request

NAME = question("text")


@pytest.mark.parametrize("ask", [change, finish])
def test_a_request_must_be_open_in_the_running_turn(ask: Any) -> None:
    reason = "there is no open request r"
    idle = {**chat(NAME), "activeTurn": None}
    assert ask(idle) == reason
    assert ask({"turns": []}) == reason
    assert ask(chat(NAME, response="accept")) == reason
    assert ask(chat(NAME, response="cancel")) == reason
    assert ask(chat(NAME), requestId="x") == "there is no open request x"
    assert ask(chat(NAME)) is None


def test_an_answered_request_does_not_hide_a_new_one_of_the_same_id() -> None:
    state = chat(NAME, response="accept")
    reopened = {"kind": "inputRequest", "request": {"id": "r", "message": "again"}}
    state["activeTurn"]["responseParts"].append(reopened)
    assert find_open_request(state, "r") is reopened["request"]


def test_other_parts_are_no_requests() -> None:
    state = chat(NAME)
    state["activeTurn"]["responseParts"].insert(0, {"kind": "markdown", "id": "r", "content": ""})
    assert find_open_request(state, "r") == {"id": "r", "questions": [NAME]}


def test_an_answer_names_a_question_of_the_request() -> None:
    answer = draft("text", "x")
    assert change(chat(NAME), answer=answer) is None
    reason = "the request has no question x"
    assert change(chat(NAME), questionId="x", answer=answer) == reason
    assert finish(chat(NAME), answers={"x": answer}) == reason
    assert finish({**chat()}, answers={"q": answer}) == "the request has no question q"


def test_an_answer_may_be_taken_back() -> None:
    assert change(chat(NAME, answers={"q": draft("text", "x")})) is None


# Which answer

FITTING = [
    (question("text"), "text", "x"),
    (question("number"), "number", 0.5),
    (question("integer"), "number", 2),
    (question("boolean"), "boolean", False),
    (question("single-select", options=OPTIONS), "selected", "a"),
    (question("multi-select", options=OPTIONS), "selected-many", ["a", "b"]),
]
VALUES = [(kind, value) for _, kind, value in FITTING]


@pytest.mark.parametrize(("asked", "kind", "value"), FITTING)
def test_each_question_takes_its_kind_of_value_and_no_other(
    asked: State, kind: str, value: Any
) -> None:
    for given_kind, given_value in VALUES:
        expected = (
            None if given_kind == kind else f"question q takes a {kind} answer, not {given_kind}"
        )
        answer = submitted(given_kind, value if given_kind == kind else given_value)
        assert change(chat(asked), answer=answer) == expected
        assert change(chat(asked), answer={**answer, "state": "draft"}) == expected
        assert finish(chat(asked), answers={"q": answer}) == expected


def refused(asked: State, kind: str, value: Any, **extra: Any) -> str | None:
    """Return why an answer is refused at the end, having checked that a draft may still be it."""
    assert change(chat(asked), answer=draft(kind, value, **extra)) is None
    reason = finish(chat(asked), answers={"q": submitted(kind, value, **extra)})
    # A draft that is left over counts as well, so it must fit too.
    assert finish(chat(asked, answers={"q": draft(kind, value, **extra)})) == reason
    return reason


def test_a_text_keeps_within_its_length() -> None:
    asked = question("text", min=2, max=4)
    assert refused(asked, "text", "a") == "question q: at least 2 characters"
    assert refused(asked, "text", "abcde") == "question q: at most 4 characters"
    assert refused(asked, "text", "ab") is None
    assert refused(asked, "text", "abcd") is None
    assert refused(question("text", max=0), "text", "a") == "question q: at most 0 characters"
    assert refused(question("text"), "text", "") is None


def test_the_format_of_a_text_is_only_a_hint() -> None:
    assert refused(question("text", format="email"), "text", "not an address") is None


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_a_number_keeps_within_its_range(kind: str) -> None:
    asked = question(kind, min=0, max=10)
    assert refused(asked, "number", -1) == "question q: at least 0"
    assert refused(asked, "number", 11) == "question q: at most 10"
    assert refused(asked, "number", 0) is None
    assert refused(asked, "number", 10) is None


def test_an_integer_is_whole_and_a_number_need_not_be() -> None:
    assert refused(question("integer"), "number", 1.5) == "question q: the number must be whole"
    assert refused(question("integer"), "number", 2.0) is None
    assert refused(question("number"), "number", 1.5) is None


@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_number_is_finite(kind: str, value: float) -> None:
    assert refused(question(kind), "number", value) == "question q: the number must be finite"


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_either(value: bool) -> None:
    assert refused(question("boolean"), "boolean", value) is None


def test_a_choice_is_one_of_the_options() -> None:
    asked = question("single-select", options=OPTIONS)
    assert refused(asked, "selected", "b") is None
    assert refused(asked, "selected", "x") == "question q: there is no option 'x'"
    assert refused(asked, "selected", "") == "question q: there is no option ''"


def test_free_text_in_place_of_a_choice_must_be_allowed() -> None:
    free = question("single-select", options=OPTIONS, allowFreeformInput=True)
    closed = question("single-select", options=OPTIONS)
    for value in ("", "a", "free"):
        assert refused(free, "selected", value, freeformValues=["mine"]) is None
        reason = "question q: only the listed options are allowed"
        assert refused(closed, "selected", value, freeformValues=["mine"]) == reason
    assert refused(closed, "selected", "a", freeformValues=[]) is None
    # Allowed is not the same as given.
    assert refused(free, "selected", "x") == "question q: there is no option 'x'"


def test_choices_are_options_each_chosen_once() -> None:
    asked = question("multi-select", options=OPTIONS)
    assert refused(asked, "selected-many", []) is None
    assert refused(asked, "selected-many", ["a", "c"]) is None
    reason = refused(asked, "selected-many", ["a", "x"])
    assert reason == "question q: there is no option 'x'"
    reason = refused(asked, "selected-many", ["a", "b", "a"])
    assert reason == "question q: an option is chosen twice"


def test_the_number_of_choices_keeps_within_its_bounds() -> None:
    asked = question("multi-select", options=OPTIONS, min=1, max=2)
    assert refused(asked, "selected-many", []) == "question q: at least 1 choices"
    assert refused(asked, "selected-many", ["a", "b", "c"]) == "question q: at most 2 choices"
    assert refused(asked, "selected-many", ["a", "b"]) is None


def test_free_text_besides_choices_must_be_allowed_and_counts() -> None:
    free = question("multi-select", options=OPTIONS, allowFreeformInput=True, min=2, max=2)
    closed = question("multi-select", options=OPTIONS)
    assert refused(free, "selected-many", ["a"], freeformValues=["mine"]) is None
    assert refused(free, "selected-many", [], freeformValues=["mine", "other"]) is None
    reason = refused(free, "selected-many", ["a", "b"], freeformValues=["mine"])
    assert reason == "question q: at most 2 choices"
    reason = refused(closed, "selected-many", ["a"], freeformValues=["mine"])
    assert reason == "question q: only the listed options are allowed"


def test_a_question_of_a_kind_not_known_here_takes_any_answer() -> None:
    assert refused(question("colour", min=3), "text", "x") is None


def test_a_skip_is_never_out_of_bounds() -> None:
    skipped = {"state": "skipped", "freeformValues": ["later"]}
    for asked, _, _ in FITTING:
        assert change(chat(asked), answer=skipped) is None
        assert finish(chat(asked), answers={"q": skipped}) is None


# Completing

REQUIRED = question("text", required=True, min=2)
MUST = "question q must be answered"


def test_a_required_question_needs_a_submitted_answer() -> None:
    assert finish(chat(REQUIRED)) == MUST
    assert finish(chat(REQUIRED), answers={}) == MUST
    assert finish(chat(REQUIRED), answers={"q": submitted("text", "ab")}) is None
    assert finish(chat(REQUIRED, answers={"q": submitted("text", "ab")})) is None


def test_neither_a_draft_nor_a_skip_answers_a_required_question() -> None:
    for answer in (draft("text", "ab"), {"state": "skipped"}):
        assert finish(chat(REQUIRED), answers={"q": answer}) == MUST
        assert finish(chat(REQUIRED, answers={"q": answer})) == MUST


def test_given_answers_are_laid_over_those_that_are_there() -> None:
    there = chat(REQUIRED, answers={"q": submitted("text", "ab")})
    assert finish(there, answers={"q": draft("text", "cd")}) == MUST
    assert finish(there, answers={"q": {"state": "skipped"}}) == MUST
    assert finish(there, answers={"q": submitted("text", "x")}) == (
        "question q: at least 2 characters"
    )
    missing = chat(REQUIRED, answers={"q": draft("text", "ab")})
    assert finish(missing, answers={"q": submitted("text", "cd")}) is None


def test_each_required_question_counts() -> None:
    second = {**REQUIRED, "id": "q2"}
    state = chat(REQUIRED, second)
    answers = {"q": submitted("text", "ab")}
    assert finish(state, answers=answers) == "question q2 must be answered"
    assert finish(state, answers={**answers, "q2": submitted("text", "ab")}) is None


def test_an_optional_question_may_stay_open() -> None:
    assert finish(chat(question("text", min=2))) is None
    assert finish(chat(question("text", required=False))) is None


def test_an_answer_to_a_question_that_was_withdrawn_is_nobodys_concern() -> None:
    assert finish(chat(NAME, answers={"old": draft("number", 1)})) is None


def test_a_request_without_questions_may_be_accepted() -> None:
    state = chat()
    del state["activeTurn"]["responseParts"][0]["request"]["questions"]
    assert finish(state) is None


@pytest.mark.parametrize("response", ["decline", "cancel"])
def test_declining_needs_no_answers(response: str) -> None:
    assert finish(chat(REQUIRED), response) is None
    assert finish(chat(REQUIRED, answers={"q": draft("text", "")}), response) is None


def test_a_failed_session_takes_no_answers() -> None:
    session: State = {"lifecycle": "failed"}
    failed = RuleContext("me", session)
    action = {"type": "chat/inputCompleted", "requestId": "r", "response": "cancel"}
    assert check(chat(NAME), action, failed) == "the session could not be created"


# Properties

bounds = st.one_of(st.none(), st.integers(-5, 5))


@given(low=bounds, high=bounds, value=st.floats(-6, 6, allow_nan=False))
def test_a_number_is_accepted_exactly_within_its_bounds(
    low: int | None, high: int | None, value: float
) -> None:
    asked = question("number")
    if low is not None:
        asked["min"] = low
    if high is not None:
        asked["max"] = high
    fits = (low is None or value >= low) and (high is None or value <= high)
    assert (check_answer(asked, submitted("number", value), final=True) is None) == fits
    assert check_answer(asked, draft("number", value), final=False) is None


@given(
    chosen=st.lists(st.sampled_from("abcx"), max_size=4),
    free=st.lists(st.text(max_size=2), max_size=2),
    allowed=st.booleans(),
    most=st.integers(0, 4),
)
def test_choices_are_accepted_exactly_when_every_rule_holds(
    chosen: list[str], free: list[str], allowed: bool, most: int
) -> None:
    asked = question("multi-select", options=OPTIONS, max=most, allowFreeformInput=allowed)
    fits = (
        set(chosen) <= set("abc")
        and len(set(chosen)) == len(chosen)
        and (allowed or not free)
        and len(chosen) + len(free) <= most
    )
    answer = submitted("selected-many", chosen, freeformValues=free)
    assert (check_answer(asked, answer, final=True) is None) == fits
