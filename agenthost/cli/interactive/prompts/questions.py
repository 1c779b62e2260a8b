"""Questions of an agent: asked one after the other, answered all at once.

Pure. What is plainly no answer is refused here, at once; whether it is a good one the host says,
and then the question is asked again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agenthost.cli.format.state_format import answer_text, asked_lines, only_question
from agenthost.cli.format.terminal_text import one_line, visible
from agenthost.cli.headless.auto_answers import yes_or_no
from agenthost.cli.interactive.display.styled_text import (
    Fragment,
    StyledLine,
    clip_line,
    line,
    spread,
    wrap,
)
from agenthost.cli.interactive.prompts.dialogue import Act, Dialogue, Hint, Reply, card, choices
from agenthost.cli.interactive.prompts.pending import Pending
from agenthost.cli.interactive.viewers import SOMEBODY_ELSE
from agenthost.client import actions

Json = Mapping[str, Any]

_KNOWN = frozenset({"text", "number", "integer", "boolean", "single-select", "multi-select"})


class AnswerRefused(ValueError):
    """A typed answer does not fit its question; the message says what would."""


def read_answer(question: Json, text: str) -> Any:
    """Parse a typed answer; None skips the question.

    Raises:
        AnswerRefused: it cannot be an answer.
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
    """The questions of one request, and the answers so far."""

    pending: Pending
    index: int = 0
    # What was answered so far, as it was typed.
    texts: Mapping[str, str] = field(default_factory=dict)
    # What the last answers were refused with.
    problem: str = ""

    def with_pending(self, pending: Pending) -> Questions:
        """Continue with a newer state of the request."""
        # Fewer questions may be left than have been asked.
        last = max(len(pending.item.get("questions") or ()) - 1, 0)
        return replace(self, pending=pending, index=min(self.index, last))

    @property
    def all(self) -> Sequence[Json]:
        """The questions, in their order."""
        return self.pending.item.get("questions") or ()

    @property
    def current(self) -> Json | None:
        """The current question; None if the request has none."""
        return self.all[self.index] if self.index < len(self.all) else None

    @property
    def label(self) -> str:
        """The label of the input line."""
        if self.current is None:
            return "continue? "
        title = one_line(self.current.get("title") or self.current["id"])[:20]
        return f"{title} " if title.endswith("?") else f"{title}: "

    @property
    def prefill(self) -> str:
        """The answer given before, here or as a draft; not the default."""
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
        """Whether the typed text is taken literally: no, questions can be declined."""
        return False

    def respond(self, text: str) -> Reply:
        """Handle an answer; an empty one means the default. The last one submits all."""
        question = self.current
        if question is None:
            return self._accept()
        return self._answer(question, text if text.strip() else _default(question))

    def skip(self) -> Reply:
        """Skip the current question, whatever its default."""
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
        """Return to the previous question."""
        return replace(self, index=self.index - 1, problem="") if self.index else None

    def refused(self, reason: str) -> Questions:
        """Ask again after a refusal, at the question that the reason names."""
        for index, question in enumerate(self.all):
            if re.search(rf"\bquestion {re.escape(question['id'])}(?!\w)", reason):
                told = re.sub(rf"^question {re.escape(question['id'])}(:| )\s*", "", reason)
                return replace(self, index=index, problem=told)
        return replace(self, index=0, problem=reason)

    def draft(self) -> Json | None:
        """Return the action that shows everybody the previous answer as a draft."""
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
        """Decline to answer."""
        return Act(actions.input_completed(self.pending.id, "decline"), self)

    def dismiss(self) -> Act:
        """Close the questions without an answer."""
        return Act(actions.input_completed(self.pending.id, "cancel"), self)

    def card(
        self,
        width: int,
        rows: int,
        preview: Sequence[StyledLine] = (),
        *,
        read_only: bool = False,
    ) -> list[StyledLine]:
        """Return the current question as a card; without choices if read-only."""
        inner = width - 2
        request, question = self.pending.item, self.current
        lines = [] if only_question(request) is not None else [self._title(inner)]
        if request.get("url"):
            lines.append(line(("link", visible(request["url"]))))
        if question is not None:
            lines += self._question_lines(question, inner, rows, alone=not lines)
            lines += [] if read_only else choices(_options(question))
        if self.problem:
            lines += wrap(line(("bad", self.problem)), inner)
        footer = SOMEBODY_ELSE if read_only else self._footer(inner)
        return card([*lines, line(("dim", footer))], width)

    def _question_lines(
        self, question: Json, width: int, rows: int, *, alone: bool
    ) -> list[StyledLine]:
        """Return a question's text line by line; of a long one, as much as leaves room to answer.

        Nothing hides in it: it may be about what a program would run.
        """
        first, *more = asked_lines(question["message"])
        asked, remarks = ("bold" if alone else "", first), tuple(self._remarks(question, alone))
        if not more:
            return wrap(line(asked, *remarks), width)
        lines = [part for text in (line(asked), *map(line, more)) for part in wrap(text, width)]
        room = max(rows - len(question.get("options") or ()) - 4, 3)
        if len(lines) > room:
            left = f"… and {len(lines) - room + 1} more lines"
            lines = [*lines[: room - 1], line(("dim", left))]
        behind = line(*remarks)
        return [*lines, clip_line(behind, width)] if behind else lines

    def _remarks(self, question: Json, alone: bool) -> Iterator[Fragment]:
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
    """Return a question's default as it would be typed; empty if there is none."""
    default = question.get("defaultValue")
    if isinstance(default, bool):
        return "yes" if default else "no"
    return "" if default is None else str(default)


def _hints(question: Json) -> Iterator[str]:
    """Yield what kind of answer a question wants."""
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
        raise AnswerRefused("not a number") from None
    if not math.isfinite(number):
        raise AnswerRefused("not a number")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _whole(text: str) -> int:
    number = _number(text)
    if not isinstance(number, int):
        raise AnswerRefused("not a whole number")
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
    """Return the id of the option that a word names, or the word itself if any is allowed."""
    options = question["options"]
    for option in options:
        if word.lower() in (option["id"].lower(), option["label"].lower()):
            return str(option["id"])
    if word.isascii() and word.isdigit() and 1 <= int(word) <= len(options):
        return str(options[int(word) - 1]["id"])
    if question.get("allowFreeformInput"):
        return word
    raise AnswerRefused(f"there is no option {word!r}: type a number from 1 to {len(options)}")
