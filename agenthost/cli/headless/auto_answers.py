"""Automatic answers for ``agenthost send``: ``--approve`` for calls, ``--answer`` for questions.

Pure. Owns the reading of ``--approve`` and ``--answer``; what a decision looks like on the wire is
``agenthost.client.actions``'s, and ``commands.send`` carries it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agenthost.client import actions

Json = Mapping[str, Any]

_TOOL = "tool="
_YES = frozenset({"yes", "y", "true", "on", "1"})
_NO = frozenset({"no", "n", "false", "off", "0"})


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """Which tool calls, and which results, ``--approve`` allows."""

    everything: bool = False
    tools: frozenset[str] = frozenset()

    @classmethod
    def read(cls, words: Iterable[str]) -> ApprovalPolicy:
        """Parse ``never``, ``always`` and ``tool=NAME``; the most permissive one wins.

        Raises:
            ValueError: a word is none of these.
        """
        tools: set[str] = set()
        everything = False
        for word in words:
            if word.startswith(_TOOL) and word != _TOOL:
                tools.add(word.removeprefix(_TOOL))
            elif word in ("always", "never"):
                everything = everything or word == "always"
            else:
                raise ValueError(f"--approve {word!r}: use never, always or tool=NAME")
        return cls(everything, frozenset(tools))

    def allow(self, call: Json) -> bool:
        """Return whether a pending call is approved."""
        return self.everything or call["toolName"] in self.tools

    def decide(self, turn_id: str, call: Json) -> dict[str, Any]:
        """Return the action that approves or denies a pending call."""
        if self.allow(call):
            return actions.approval(turn_id, call)
        reason = "nobody is there to approve it, and --approve does not cover it"
        return actions.denial(turn_id, call, reason=reason)


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """The reply to an agent's questions: the action, and why they are declined if they are."""

    action: dict[str, Any]
    # Why they are declined; empty where they are answered.
    problem: str = ""
    # Whether what was given cannot be an answer, rather than that nothing was given.
    is_bad_answer: bool = False


class GivenAnswers:
    """Answers from ``--answer ID=VALUE``, by question id; an id may have several."""

    def __init__(self, given: Mapping[str, Sequence[str]]) -> None:
        self._given = given
        self._used: set[str] = set()

    @classmethod
    def read(cls, texts: Iterable[str]) -> GivenAnswers:
        """Parse ``ID=VALUE``; ValueError without an ID."""
        given: dict[str, list[str]] = {}
        for text in texts:
            id, equals, value = text.partition("=")
            if not id or not equals:
                raise ValueError(f"{text!r} is not of the form ID=VALUE")
            given.setdefault(id, []).append(value)
        return cls(given)

    @property
    def unused(self) -> list[str]:
        """Ids given by ``--answer`` that no question asked for."""
        return [id for id in self._given if id not in self._used]

    def reply(self, request: Json) -> QuestionReply:
        """Return the reply to a request: answers, or a refusal if a required one is missing."""
        questions = request.get("questions") or []
        asked = [question for question in questions if question["id"] in self._given]
        self._used.update(question["id"] for question in asked)
        missing = [
            question["id"]
            for question in questions
            if question.get("required") and question["id"] not in self._given
        ]
        if missing or not asked:
            wanted = missing or [question["id"] for question in questions]
            return _declined(request, _unanswered(wanted))
        try:
            values = {q["id"]: read_answer(q, self._given[q["id"]]) for q in asked}
            answers = actions.answers_to(request, values)
        except ValueError as error:
            return _declined(request, str(error), is_bad_answer=True)
        return QuestionReply(actions.input_completed(request["id"], "accept", answers))


def read_answer(question: Json, texts: Sequence[str]) -> Any:
    """Convert typed text to the kind of value that a question wants.

    Raises:
        ValueError: it cannot be read as one.
    """
    text = texts[-1]
    match question["kind"]:
        case "number" | "integer" as kind:
            try:
                return int(text) if kind == "integer" else float(text)
            except ValueError:
                raise ValueError(
                    f"{text!r} is not the {kind} that {question['id']} asks for"
                ) from None
        case "boolean":
            meant = yes_or_no(text)
            if meant is None:
                raise ValueError(f"{text!r} is neither yes nor no, which {question['id']} asks for")
            return meant
        case "multi-select":
            known = {word for option in question["options"] for word in option.values()}
            return [
                choice
                for given in texts
                for choice in ([given] if given in known else _split(given))
            ]
    return text


def yes_or_no(text: str) -> bool | None:
    """Return True for yes, False for no, None for any other word."""
    word = text.strip().casefold()
    return word in _YES if word in _YES | _NO else None


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _declined(request: Json, problem: str, *, is_bad_answer: bool = False) -> QuestionReply:
    return QuestionReply(actions.input_completed(request["id"], "decline"), problem, is_bad_answer)


def _unanswered(ids: Sequence[str]) -> str:
    if not ids:
        return "its questions can only be answered in a chat"
    return f"no answer is given: {' '.join(f'--answer {id}=…' for id in ids)}"


def chat_and_workers(chats: Sequence[Json], chat: str) -> set[str]:
    """Return a chat and its worker chats, recursively."""
    found = {chat}
    while True:
        more = {
            item["resource"]
            for item in chats
            if (item.get("origin") or {}).get("kind") == "tool"
            and item["origin"].get("chat") in found
        }
        if more <= found:
            return found
        found |= more
