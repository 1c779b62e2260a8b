"""Asking what an agent wants to know: one question after the other, then all answers at once.

Pure. What is plainly no answer is refused here, at once; whether it is a good one the host says,
and then the question is asked again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agenthost.cli.format.state_format import answer_text, only_question
from agenthost.cli.format.terminal_text import one_line, visible
from agenthost.cli.headless.auto_answers import yes_or_no
from agenthost.cli.interactive.display.styled_text import Fragment, StyledLine, line, spread, wrap
from agenthost.cli.interactive.prompts.dialogue import Act, Dialogue, Hint, Reply, card, choices
from agenthost.cli.interactive.prompts.pending import Pending
from agenthost.client import actions

Json = Mapping[str, Any]

_KNOWN = frozenset({"text", "number", "integer", "boolean", "single-select", "multi-select"})


class AnswerRefused(ValueError):
    """A text cannot be an answer to a question; the message says what could."""


def read_answer(question: Json, text: str) -> Any:
    """Return the plain value that a text means as an answer; None passes the question over.

    Raises:
        Unfit: it cannot be an answer.
    """
    text = text.strip()
    if not text:
        if question.get("required"):
            raise AnswerRefused("this one must be answered")
        return None
    match question["kind"]:
        case "text":
            return text
        case "number":
            return _within(question, _number(text))
        case "integer":
            return _within(question, _whole(text))
        case "boolean":
            return _yes_or_no(text)
        case "single-select":
            return _option(question, text)
        case "multi-select":
            words = [word.strip() for word in text.split(",") if word.strip()]
            chosen = [_option(question, word) for word in words]
            if not question.get("allowFreeformInput"):
                _within(question, len(set(chosen)), " choices")
            return chosen
    raise AnswerRefused(f"this version cannot answer a {question['kind']} question")


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of one request."""

    pending: Pending
    index: int = 0
    # What was answered so far, as it was typed.
    texts: Mapping[str, str] = field(default_factory=dict)
    # What the last answers were refused with.
    problem: str = ""

    def with_pending(self, pending: Pending) -> Questions:
        """Go on asking what has changed meanwhile."""
        # Fewer questions may be left than have been asked.
        last = max(len(pending.item.get("questions") or ()) - 1, 0)
        return replace(self, pending=pending, index=min(self.index, last))

    @property
    def all(self) -> Sequence[Json]:
        """The questions, in their order."""
        return self.pending.item.get("questions") or ()

    @property
    def current(self) -> Json | None:
        """The question at hand; None where there is only something to read or to visit."""
        return self.all[self.index] if self.index < len(self.all) else None

    @property
    def label(self) -> str:
        """What stands in front of the line to type into."""
        if self.current is None:
            return "continue? "
        return f"{one_line(self.current.get('title') or self.current['id'])[:20]}: "

    @property
    def prefill(self) -> str:
        """What was answered before, here or by a draft of somebody; a default was not."""
        question = self.current
        if question is None:
            return ""
        if question["id"] in self.texts:
            return self.texts[question["id"]]
        draft = (self.pending.item.get("answers") or {}).get(question["id"])
        if draft is None or draft["state"] == "skipped":
            return ""
        return answer_text(question, draft)

    @property
    def is_literal(self) -> bool:
        """Whether whatever is typed is meant as it is: no, questions can be declined."""
        return False

    def respond(self, text: str) -> Reply:
        """Take an answer; an empty one is the default. After the last one, all are given."""
        question = self.current
        if question is None:
            return self._accept()
        return self._answer(question, text if text.strip() else _default(question))

    def skip(self) -> Reply:
        """Pass the question at hand over, whatever its default."""
        question = self.current
        return self._accept() if question is None else self._answer(question, "")

    def _answer(self, question: Json, text: str) -> Reply:
        try:
            read_answer(question, text)
        except AnswerRefused as error:
            return Hint(str(error))
        answered = replace(self, texts={**self.texts, question["id"]: text.strip()}, problem="")
        # After a refusal only one answer has to be mended.
        if all(other["id"] in answered.texts for other in self.all):
            return answered._accept()
        return replace(answered, index=self.index + 1)

    def back(self) -> Dialogue | None:
        """Return to the question before."""
        return replace(self, index=self.index - 1, problem="") if self.index else None

    def refused(self, reason: str) -> Questions:
        """Ask again because the host refused the answers; at the question that it names."""
        for index, question in enumerate(self.all):
            if re.search(rf"\bquestion {re.escape(question['id'])}(?!\w)", reason):
                told = re.sub(rf"^question {re.escape(question['id'])}(:| )\s*", "", reason)
                return replace(self, index=index, problem=told)
        return replace(self, index=0, problem=reason)

    def draft(self) -> Json | None:
        """Return the action that shows everybody the answer before the question at hand."""
        if not self.index or self.index > len(self.all):
            return None
        question = self.all[self.index - 1]
        value = read_answer(question, self.texts.get(question["id"], ""))
        if value is None:
            return None
        answer = actions.answers_to(self.pending.item, {question["id"]: value})[question["id"]]
        return {
            "type": "chat/inputAnswerChanged",
            "requestId": self.pending.id,
            "questionId": question["id"],
            "answer": {**answer, "state": "draft"},
        }

    def decline(self) -> Act:
        """Refuse to answer."""
        return Act(actions.input_completed(self.pending.id, "decline"), self)

    def dismiss(self) -> Act:
        """Close the questions without saying anything about them."""
        return Act(actions.input_completed(self.pending.id, "cancel"), self)

    def card(self, width: int, rows: int, preview: Sequence[StyledLine] = ()) -> list[StyledLine]:
        """Return the question at hand."""
        inner = width - 2
        request, question = self.pending.item, self.current
        lines = [] if only_question(request) is not None else [self._title(inner)]
        if request.get("url"):
            lines.append(line(("link", visible(request["url"]))))
        if question is not None:
            lines += wrap(line(*self._asked(question, alone=not lines)), inner)
            lines += choices(_options(question))
        if self.problem:
            lines += wrap(line(("bad", self.problem)), inner)
        return card([*lines, line(("dim", self._footer(inner)))], width)

    def _asked(self, question: Json, *, alone: bool) -> Iterator[Fragment]:
        yield ("bold" if alone else "", one_line(question["message"]))
        if alone and self.pending.place:
            yield ("dim", f"  in {self.pending.place}")
        hint = ", ".join(_hints(question))
        if hint:
            yield ("dim", f"  ({hint})")
        default = one_line(_default(question))
        if default:
            yield ("dim", f"  default: {default}")

    def _accept(self) -> Act:
        given = {
            question["id"]: read_answer(question, self.texts[question["id"]])
            for question in self.all
            if question["id"] in self.texts
        }
        answers = actions.answers_to(self.pending.item, given)
        return Act(actions.input_completed(self.pending.id, "accept", answers), self)

    def _title(self, width: int) -> StyledLine:
        title = one_line(self.pending.item.get("message") or "The agent asks")
        place = [("dim", f"  in {self.pending.place}")] if self.pending.place else []
        count = f"{self.index + 1} of {len(self.all)}" if len(self.all) > 1 else ""
        return spread(line(("bold", title), *place), line(("dim", count)), width)

    def _footer(self, width: int) -> str:
        question = self.current
        told = []
        if question is None:
            told.append("Enter continues")
        elif question["kind"] not in _KNOWN:
            told.append(f"this version cannot ask a {question['kind']} question")
        elif _default(question):
            told.append("an empty line takes the default")
            told += ["/skip"] * (not question.get("required"))
        elif not question.get("required"):
            told.append("an empty line skips")
        told += ["/back"] * (self.index > 0)
        footers = (" · ".join([*told, *more]) for more in (("/decline", "/dismiss"), ("/decline",)))
        return next((text for text in footers if len(text) <= width), told[0] if told else "")


def _default(question: Json) -> str:
    """Return what an empty line means, as it would be typed; empty where it means no answer."""
    default = question.get("defaultValue")
    if isinstance(default, bool):
        return "yes" if default else "no"
    return "" if default is None else str(default)


def _hints(question: Json) -> Iterator[str]:
    """Yield what an answer has to be like."""
    low, high = question.get("min"), question.get("max")
    unit = {"text": " characters", "multi-select": " choices"}.get(question["kind"], "")
    match question["kind"]:
        case "boolean":
            yield "yes or no"
        case "integer":
            yield "a whole number"
        case "number":
            yield "a number"
        case "single-select":
            yield "number or name"
        case "multi-select":
            yield "numbers or names, with commas between them"
        case "text" if question.get("format"):
            yield str(question["format"])
    if low is not None and high is not None:
        yield f"{low} to {high}{unit}"
    elif low is not None:
        yield f"at least {low}{unit}"
    elif high is not None:
        yield f"at most {high}{unit}"
    if question.get("allowFreeformInput"):
        yield "or your own words"


def _options(question: Json) -> list[tuple[str, str, int]]:
    return [
        (
            one_line(option["label"]),
            one_line(option.get("description") or "")
            + ("(recommended)" if option.get("recommended") else ""),
            0,
        )
        for option in question.get("options") or ()
    ]


def _number(text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise AnswerRefused("that is no number") from None
    if not math.isfinite(number):
        raise AnswerRefused("that is no number")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _whole(text: str) -> int:
    number = _number(text)
    if not isinstance(number, int):
        raise AnswerRefused("that is no whole number")
    return number


def _within(question: Json, number: float, unit: str = "") -> float:
    low, high = question.get("min"), question.get("max")
    if low is not None and number < low:
        raise AnswerRefused(f"at least {low}{unit}")
    if high is not None and number > high:
        raise AnswerRefused(f"at most {high}{unit}")
    return number


def _yes_or_no(text: str) -> bool:
    meant = yes_or_no(text)
    if meant is None:
        raise AnswerRefused("yes or no?")
    return meant


def _option(question: Json, word: str) -> str:
    """Return the id of the option that a word means, or the word where any will do."""
    options = question["options"]
    for option in options:
        if word.lower() in (option["id"].lower(), option["label"].lower()):
            return str(option["id"])
    if word.isascii() and word.isdigit() and 1 <= int(word) <= len(options):
        return str(options[int(word) - 1]["id"])
    if question.get("allowFreeformInput"):
        return word
    raise AnswerRefused(f"there is no option {word!r}: type a number from 1 to {len(options)}")
