"""Rules for answering input requests: is it open, does each answer fit its question (pure)."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.protocol.chat.parts import open_requests

if TYPE_CHECKING:
    from agenthost.host.channels.rule_context import RuleContext, Rules
    from agenthost.protocol.chat.input_state import (
        ChatInputAnswer,
        ChatInputAnswerValue,
        ChatInputMultiSelectQuestion,
        ChatInputNumberQuestion,
        ChatInputOption,
        ChatInputQuestion,
        ChatInputRequest,
        ChatInputSelectedAnswerValue,
        ChatInputSelectedManyAnswerValue,
        ChatInputSingleSelectQuestion,
        ChatInputTextQuestion,
    )
    from agenthost.protocol.chat.state import ChatState
    from agenthost.protocol.common import Action

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


def find_open_request(state: ChatState, request_id: str) -> ChatInputRequest | None:
    """Return the unanswered request with that id in the running turn, if there is one."""
    requests = open_requests(state.get("activeTurn"))
    return next((request for request in requests if request["id"] == request_id), None)


def check_answer(
    question: ChatInputQuestion, answer: ChatInputAnswer, *, final: bool
) -> str | None:
    """Return the rule that an answer breaks; a draft only has to be of the right kind."""
    if answer["state"] == "skipped":
        return None
    value = answer["value"]
    wanted = _VALUE_KIND.get(question["kind"])
    if wanted is not None and value["kind"] != wanted:
        return f"question {question['id']} takes a {wanted} answer, not {value['kind']}"
    if not final or wanted is None:
        return None
    broken = _broken_bound(question, value)
    return f"question {question['id']}: {broken}" if broken is not None else None


def read_answers(state: ChatState, action: Action) -> Action:
    """Return an action that answers with its answers as their questions want them, or the same.

    Some editors ask everything in a text field: what was typed for a number or for a yes or no
    is read as that. What cannot be read so stays as it is, for the rules to refuse.
    """
    questions = _questions(find_open_request(state, action["requestId"]))
    if action["type"] == "chat/inputAnswerChanged":
        answer = action.get("answer")
        read = _read(questions.get(action["questionId"]), answer)
        return action if read is answer else {**action, "answer": read}
    answers: dict[str, ChatInputAnswer] = action.get("answers") or {}
    as_wanted = {id: _read(questions.get(id), answer) for id, answer in answers.items()}
    if all(as_wanted[id] is answer for id, answer in answers.items()):
        return action
    return {**action, "answers": as_wanted}


def _read(
    question: ChatInputQuestion | None, answer: ChatInputAnswer | None
) -> ChatInputAnswer | None:
    if question is None or answer is None or answer["state"] == "skipped":
        return answer
    typed = answer["value"]
    if typed["kind"] != "text" and typed["kind"] != "selected":
        return answer
    value = _as_wanted(_VALUE_KIND.get(question["kind"]), typed["value"].strip())
    return answer if value is None else {**answer, "value": value}


def _as_wanted(kind: str | None, words: str) -> ChatInputAnswerValue | None:
    if kind == "boolean":
        yes = _YES_AND_NO.get(words.lower())
        return None if yes is None else {"kind": "boolean", "value": yes}
    if kind == "number":
        with contextlib.suppress(ValueError):
            number = int(words) if _WHOLE.fullmatch(words) else float(words)
            return {"kind": "number", "value": number}
    return None


def _answer_changed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    request = find_open_request(state, action["requestId"])
    if request is None:
        return f"there is no open request {action['requestId']}"
    answer = action.get("answer")
    question = _questions(request).get(action["questionId"])
    if question is None:
        return f"the request has no question {action['questionId']}"
    return check_answer(question, answer, final=False) if answer is not None else None


def _completed(state: ChatState, action: Action, context: RuleContext) -> str | None:
    request = find_open_request(state, action["requestId"])
    if request is None:
        return f"there is no open request {action['requestId']}"
    if action["response"] != "accept":
        return None
    questions = _questions(request)
    given: dict[str, ChatInputAnswer] = action.get("answers") or {}
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


def _questions(request: ChatInputRequest | None) -> dict[str, ChatInputQuestion]:
    asked = request.get("questions") if request is not None else None
    return {question["id"]: question for question in asked or ()}


def _broken_bound(question: ChatInputQuestion, value: ChatInputAnswerValue) -> str | None:
    """Say what a question asks for that a value of the right kind does not keep to."""
    if question["kind"] == "text" and value["kind"] == "text":
        return _within(question, len(value["value"]), "characters")
    if question["kind"] == "single-select" and value["kind"] == "selected":
        return _single(question, value)
    if question["kind"] == "multi-select" and value["kind"] == "selected-many":
        return _many(question, value)
    if (question["kind"] == "number" or question["kind"] == "integer") and (
        value["kind"] == "number"
    ):
        return _number(question, value["value"])
    return None


def _number(question: ChatInputNumberQuestion, number: float) -> str | None:
    if not math.isfinite(number):
        return "the number must be finite"
    if question["kind"] == "integer" and number != int(number):
        return "the number must be whole"
    return _within(question, number, "")


def _single(
    question: ChatInputSingleSelectQuestion, value: ChatInputSelectedAnswerValue
) -> str | None:
    if value.get("freeformValues"):
        return None if question.get("allowFreeformInput") else "only the listed options are allowed"
    return _unknown(question["options"], [value["value"]])


def _many(
    question: ChatInputMultiSelectQuestion, value: ChatInputSelectedManyAnswerValue
) -> str | None:
    chosen, free = value["value"], value.get("freeformValues") or []
    if free and not question.get("allowFreeformInput"):
        return "only the listed options are allowed"
    if len(set(chosen)) != len(chosen):
        return "an option is chosen twice"
    unknown = _unknown(question["options"], chosen)
    return unknown or _within(question, len(chosen) + len(free), "choices")


def _unknown(options: Sequence[ChatInputOption], chosen: Sequence[str]) -> str | None:
    known = {option["id"] for option in options}
    unknown = [option for option in chosen if option not in known]
    return f"there is no option {unknown[0]!r}" if unknown else None


def _within(
    question: ChatInputTextQuestion | ChatInputNumberQuestion | ChatInputMultiSelectQuestion,
    amount: float,
    unit: str,
) -> str | None:
    low, high = question.get("min"), question.get("max")
    if low is not None and amount < low:
        return f"at least {low} {unit}".rstrip()
    if high is not None and amount > high:
        return f"at most {high} {unit}".rstrip()
    return None


RULES: Rules[ChatState] = {
    "chat/inputAnswerChanged": _answer_changed,
    "chat/inputCompleted": _completed,
}
