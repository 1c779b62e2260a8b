"""What to say, without a person, when an agent asks: for approval by policy, to questions as given.

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
    """Which tool calls are approved, and whose results."""

    everything: bool = False
    tools: frozenset[str] = frozenset()

    @classmethod
    def read(cls, words: Iterable[str]) -> ApprovalPolicy:
        """Read ``never``, ``always`` and ``tool=NAME``, of which the most generous counts.

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
                raise ValueError(f"{word!r} is none of never, always and tool=NAME")
        return cls(everything, frozenset(tools))

    def allow(self, call: Json) -> bool:
        """Say whether a call that waits may go ahead."""
        return self.everything or call["toolName"] in self.tools

    def decide(self, turn_id: str, call: Json) -> dict[str, Any]:
        """Return the action that approves or denies a call that waits."""
        if self.allow(call):
            return actions.approval(turn_id, call)
        reason = "nobody is there to approve it, and --approve does not cover it"
        return actions.denial(turn_id, call, reason=reason)


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """What to say to an agent's questions."""

    action: dict[str, Any]
    # Why they are declined; empty where they are answered.
    problem: str = ""
    # Whether what was given cannot be an answer, rather than that nothing was given.
    is_bad_answer: bool = False


class GivenAnswers:
    """What ``--answer ID=VALUE`` said, by question; an id may be given more than once."""

    def __init__(self, given: Mapping[str, Sequence[str]]) -> None:
        self._given = given
        self._used: set[str] = set()

    @classmethod
    def read(cls, texts: Iterable[str]) -> GivenAnswers:
        """Read ``ID=VALUE``; ValueError where there is no ID."""
        given: dict[str, list[str]] = {}
        for text in texts:
            id, equals, value = text.partition("=")
            if not id or not equals:
                raise ValueError(f"{text!r} is not of the form ID=VALUE")
            given.setdefault(id, []).append(value)
        return cls(given)

    @property
    def unused(self) -> list[str]:
        """The ids to which nothing was asked."""
        return [id for id in self._given if id not in self._used]

    def reply(self, request: Json) -> QuestionReply:
        """Answer a request if something is given for it and nothing required is missing."""
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
    """Read what was typed as the kind of value that a question wants.

    Raises:
        ValueError: it cannot be read as one.
    """
    text = texts[-1]
    match question["kind"]:
        case "number" | "integer" as kind:
            try:
                return int(text) if kind == "integer" else float(text)
            except ValueError:
                raise ValueError(f"{text!r} is no {kind}; {question['id']} asks for one") from None
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
    """Return what a word means as an answer, or None when that is neither."""
    word = text.strip().casefold()
    return word in _YES if word in _YES | _NO else None


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _declined(request: Json, problem: str, *, is_bad_answer: bool = False) -> QuestionReply:
    return QuestionReply(actions.input_completed(request["id"], "decline"), problem, is_bad_answer)


def _unanswered(ids: Sequence[str]) -> str:
    if not ids:
        return "it cannot be answered from here"
    return f"no answer is given: {' '.join(f'--answer {id}=…' for id in ids)}"


def chat_and_workers(chats: Sequence[Json], chat: str) -> set[str]:
    """Return a chat and all whom its tool calls set to work, and theirs."""
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
