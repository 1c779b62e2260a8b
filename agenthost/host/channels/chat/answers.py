"""Rules for answering input requests: is it open, does each answer fit its question."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from agenthost.host.channels.rule_context import RuleContext

State = Mapping[str, Any]
Action = Mapping[str, Any]
Question = Mapping[str, Any]

_VALUE_KIND = {
    "text": "text",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "single-select": "selected",
    "multi-select": "selected-many",
}


_YES_AND_NO = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}
# Short enough that no number of digits keeps anybody waiting.
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def find_open_request(state: State, request_id: str) -> Mapping[str, Any] | None:
    """Return the unanswered request with that id in the running turn, if there is one."""
    active = state.get("activeTurn")
    for part in active["responseParts"] if active is not None else ():
        if (
            part.get("kind") == "inputRequest"
            and part.get("response") is None
            and part["request"]["id"] == request_id
        ):
            request: Mapping[str, Any] = part["request"]
            return request
    return None


def check_answer(question: Question, answer: Mapping[str, Any], *, final: bool) -> str | None:
    """Return the rule that an answer breaks; a draft only has to be of the right kind."""
    if answer["state"] == "skipped":
        return None
    value = answer["value"]
    wanted = _VALUE_KIND.get(question["kind"])
    if wanted is not None and value["kind"] != wanted:
        return f"question {question['id']} takes a {wanted} answer, not {value['kind']}"
    if not final or wanted is None:
        return None
    broken = _BOUNDS[question["kind"]](question, value)
    return f"question {question['id']}: {broken}" if broken is not None else None


def read_answers(state: State, action: dict[str, Any]) -> dict[str, Any]:
    """Return an action with its answers as their questions want them, or the same action.

    Some editors ask everything in a text field: what was typed for a number or for a yes or no
    is read as that. What cannot be read so stays as it is, for the rules to refuse.
    """
    if action["type"] not in RULES:
        return action
    questions = _questions(find_open_request(state, action["requestId"]) or {})
    if action["type"] == "chat/inputAnswerChanged":
        answer = action.get("answer")
        read = _read(questions.get(action["questionId"]), answer)
        return action if read is answer else {**action, "answer": read}
    answers: Mapping[str, Any] = action.get("answers") or {}
    as_wanted = {id: _read(questions.get(id), answer) for id, answer in answers.items()}
    if all(as_wanted[id] is answer for id, answer in answers.items()):
        return action
    return {**action, "answers": as_wanted}


def _read(question: Question | None, answer: Any) -> Any:
    value = (answer or {}).get("value") or {}
    if question is None or value.get("kind") not in ("text", "selected"):
        return answer
    words = value["value"].strip()
    wanted = _VALUE_KIND.get(question["kind"])
    read: Any = None
    if wanted == "boolean":
        read = _YES_AND_NO.get(words.lower())
    elif wanted == "number":
        with contextlib.suppress(ValueError):
            read = int(words) if _WHOLE.fullmatch(words) else float(words)
    return answer if read is None else {**answer, "value": {"kind": wanted, "value": read}}


def _answer_changed(state: State, action: Action, context: RuleContext) -> str | None:
    request = find_open_request(state, action["requestId"])
    if request is None:
        return f"there is no open request {action['requestId']}"
    answer = action.get("answer")
    question = _questions(request).get(action["questionId"])
    if question is None:
        return f"the request has no question {action['questionId']}"
    return check_answer(question, answer, final=False) if answer is not None else None


def _completed(state: State, action: Action, context: RuleContext) -> str | None:
    request = find_open_request(state, action["requestId"])
    if request is None:
        return f"there is no open request {action['requestId']}"
    if action["response"] != "accept":
        return None
    questions = _questions(request)
    given: Mapping[str, Any] = action.get("answers") or {}
    for question_id in given:
        # To a request that asks nothing in particular, editors give one nameless answer.
        if question_id not in questions and (questions or question_id != "answer"):
            return f"the request has no question {question_id}"
    answers = {**(request.get("answers") or {}), **given}
    for question in questions.values():
        answer = answers.get(question["id"])
        if question.get("required") and (answer is None or answer["state"] != "submitted"):
            return f"question {question['id']} must be answered"
        if answer is not None:
            broken = check_answer(question, answer, final=True)
            if broken is not None:
                return broken
    return None


def _questions(request: Mapping[str, Any]) -> dict[str, Question]:
    return {question["id"]: question for question in request.get("questions") or ()}


def _text(question: Question, value: Mapping[str, Any]) -> str | None:
    return _within(question, len(value["value"]), "characters")


def _number(question: Question, value: Mapping[str, Any]) -> str | None:
    number = value["value"]
    if not math.isfinite(number):
        return "the number must be finite"
    if question["kind"] == "integer" and number != int(number):
        return "the number must be whole"
    return _within(question, number, "")


def _single(question: Question, value: Mapping[str, Any]) -> str | None:
    if value.get("freeformValues"):
        return None if question.get("allowFreeformInput") else "only the listed options are allowed"
    return _known(question, [value["value"]])


def _many(question: Question, value: Mapping[str, Any]) -> str | None:
    chosen, free = value["value"], value.get("freeformValues") or []
    if free and not question.get("allowFreeformInput"):
        return "only the listed options are allowed"
    if len(set(chosen)) != len(chosen):
        return "an option is chosen twice"
    return _known(question, chosen) or _within(question, len(chosen) + len(free), "choices")


def _known(question: Question, chosen: list[str]) -> str | None:
    options = {option["id"] for option in question["options"]}
    unknown = [option for option in chosen if option not in options]
    return f"there is no option {unknown[0]!r}" if unknown else None


def _within(question: Question, amount: float, unit: str) -> str | None:
    low, high = question.get("min"), question.get("max")
    if low is not None and amount < low:
        return f"at least {low} {unit}".rstrip()
    if high is not None and amount > high:
        return f"at most {high} {unit}".rstrip()
    return None


_BOUNDS: dict[str, Callable[[Question, Mapping[str, Any]], str | None]] = {
    "text": _text,
    "number": _number,
    "integer": _number,
    "boolean": lambda question, value: None,
    "single-select": _single,
    "multi-select": _many,
}

RULES: dict[str, Callable[[State, Action, RuleContext], str | None]] = {
    "chat/inputAnswerChanged": _answer_changed,
    "chat/inputCompleted": _completed,
}
