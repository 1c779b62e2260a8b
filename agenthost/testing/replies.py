"""What a test replies to an agent: approvals of its tool calls, and answers to its questions.

Pure: decides, and leaves it to ``running_turn`` to say it. Whatever a test did not foresee is
``Unanswered``, at once and by name; an agent that waits for ever would only say that time is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agenthost.errors import AgentHostError
from agenthost.testing.seen_turn import SeenCall


class Unanswered(AgentHostError):
    """An agent asked for something that the test has no reply to; the message says for what."""


class _Decline:
    """The type of ``DECLINE``."""

    def __repr__(self) -> str:
        return "DECLINE"


LONGEST_QUOTE: Final = 500
"""Characters of what an agent said that a message quotes."""

DECLINE: Final = _Decline()
"""An answer which says that people will not answer."""


@dataclass(frozen=True, slots=True)
class Allow:
    """A call is approved: with other parameters, or by one of the options it offers, if given."""

    input: str | None = None
    # The option's id, such as "allow-in-session".
    option: str | None = None


@dataclass(frozen=True, slots=True)
class Deny:
    """A call is denied, perhaps with a reason, and with what to do instead."""

    reason: str | None = None
    suggestion: str | None = None


Decision: TypeAlias = bool | Allow | Deny
"""What becomes of one call."""

Approve: TypeAlias = Decision | str | Callable[[SeenCall], Decision] | None
"""All calls, none of them, those of one tool, or whichever a function chooses."""

Answers: TypeAlias = Sequence[Any] | Mapping[str, Any] | Callable[[Mapping[str, Any]], Any]
"""In the order of the questions, by a question's id or words, or by a function."""


class ScriptedReplies:
    """What is replied in one turn."""

    def __init__(self, answers: Answers = (), approve: Approve = None) -> None:
        if isinstance(answers, str):
            # A sequence of characters, which nobody means.
            raise TypeError("answers are a list, even if there is only one: answers=[…]")
        self._approve = approve
        self._answers = answers
        self._next: Iterator[Any] = iter(answers if isinstance(answers, Sequence) else ())

    def decides(self, call: SeenCall) -> Allow | Deny:
        """Return what becomes of a call, or of its result; raise Unanswered if nobody said."""
        decided = self._decision(call)
        if isinstance(decided, Allow | Deny):
            return decided
        return Allow() if decided else Deny()

    def _decision(self, call: SeenCall) -> Decision:
        match self._approve:
            case bool() | Allow() | Deny() as decided:
                return decided
            case str(tool) if tool == call.name:
                return True
            case str(tool):
                raise Unanswered(f"{_call(call)} waits for approval; only {tool} is approved")
            case None:
                raise Unanswered(f"{_call(call)} waits for approval; say approve=True or False")
            case decide:
                return decide(call)

    def answers(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what answers each question of a request; None declines all of it."""
        # One that sends people to a web page has no questions, and waits for them all the same.
        questions = request.get("questions") or ()
        given = [self._answer(question) for question in questions or (request,)]
        if any(answer is DECLINE for answer in given):
            return None
        return {question["id"]: each for question, each in zip(questions, given, strict=False)}

    def _answer(self, question: Mapping[str, Any]) -> Any:
        given = self._answers
        if callable(given):
            return given(question)
        if not isinstance(given, Mapping):
            for answer in self._next:
                return answer
        else:
            for key in (question["id"], words_of(question)):
                if key in given:
                    return given[key]
        asked = f"{brief(words_of(question))} ({brief(question['id'])[1:-1]})"
        raise Unanswered(f"the agent asks {asked}, unanswered")


def words_of(question: Mapping[str, Any]) -> str:
    """Return the words of a question, or of a request without questions."""
    said = question.get("message") or question.get("title") or question["id"]
    return str(said.get("markdown", said)) if isinstance(said, Mapping) else str(said)


def _call(call: SeenCall) -> str:
    return f"the call of {call.name} with {brief(call.input)}"


def brief(value: Any) -> str:
    """Return what an agent said for a message: its end, where there is too much of it."""
    told = repr(value)
    return told if len(told) <= LONGEST_QUOTE else f"…{told[-LONGEST_QUOTE:]}"
