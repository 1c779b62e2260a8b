"""Questions to people and their answers: one builder per kind, one reader for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agenthost.agents.api import AgentError

__all__ = ["Answers", "boolean", "choice", "choices", "integer", "number", "read_answers", "text"]

Question = dict[str, Any]
Response = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers to questions; true when they were accepted."""

    response: Response
    # Question id -> plain value; what was skipped or left open is not in it.
    values: Mapping[str, Any]

    def __bool__(self) -> bool:
        return self.response == "accept"

    def __getitem__(self, question_id: str) -> Any:
        return self.values[question_id]

    def get(self, question_id: str, default: Any = None) -> Any:
        """Return the value of one answer, or the default when there is none."""
        return self.values.get(question_id, default)


def _question(kind: str, id: str, message: str, required: bool, **fields: Any) -> Question:
    question = {"id": id, "kind": kind, "message": message, "required": required}
    return {**question, **{key: value for key, value in fields.items() if value is not None}}


def text(
    id: str,
    message: str,
    *,
    required: bool = True,
    title: str | None = None,
    min: int | None = None,
    max: int | None = None,
    format: str | None = None,
    default: str | None = None,
) -> Question:
    """Ask for text; ``format`` is a hint such as email, uri, date or date-time."""
    fields = {"title": title, "min": min, "max": max, "format": format, "defaultValue": default}
    return _question("text", id, message, required, **fields)


def number(
    id: str,
    message: str,
    *,
    required: bool = True,
    title: str | None = None,
    min: float | None = None,
    max: float | None = None,
    default: float | None = None,
) -> Question:
    """Ask for a number."""
    fields = {"title": title, "min": min, "max": max, "defaultValue": default}
    return _question("number", id, message, required, **fields)


def integer(
    id: str,
    message: str,
    *,
    required: bool = True,
    title: str | None = None,
    min: int | None = None,
    max: int | None = None,
    default: int | None = None,
) -> Question:
    """Ask for a whole number."""
    fields = {"title": title, "min": min, "max": max, "defaultValue": default}
    return _question("integer", id, message, required, **fields)


def boolean(
    id: str,
    message: str,
    *,
    required: bool = True,
    title: str | None = None,
    default: bool | None = None,
) -> Question:
    """Ask for yes or no."""
    return _question("boolean", id, message, required, title=title, defaultValue=default)


def choice(
    id: str,
    message: str,
    options: Sequence[str | Mapping[str, Any]],
    *,
    required: bool = True,
    title: str | None = None,
    freeform: bool = False,
) -> Question:
    """Ask for one of several options; ``freeform`` also takes the person's own words."""
    fields = {"title": title, "allowFreeformInput": freeform or None}
    return _question("single-select", id, message, required, options=_options(options), **fields)


def choices(
    id: str,
    message: str,
    options: Sequence[str | Mapping[str, Any]],
    *,
    required: bool = True,
    title: str | None = None,
    freeform: bool = False,
    min: int | None = None,
    max: int | None = None,
) -> Question:
    """Ask for any number of options."""
    fields = {"title": title, "allowFreeformInput": freeform or None, "min": min, "max": max}
    return _question("multi-select", id, message, required, options=_options(options), **fields)


def read_answers(part: Mapping[str, Any]) -> Answers:
    """Read the answers from an input request that has been completed."""
    answers: Mapping[str, Any] = part["request"].get("answers") or {}
    if part["response"] != "accept":
        return Answers(part["response"], {})
    # Drafts of optional questions count: people saw them when they accepted.
    values = {
        id: _plain(answer["value"])
        for id, answer in answers.items()
        if answer["state"] != "skipped"
    }
    return Answers("accept", values)


def _plain(value: Mapping[str, Any]) -> Any:
    free = list(value.get("freeformValues") or ())
    if value["kind"] == "selected":
        return free[0] if free else value["value"]
    if value["kind"] == "selected-many":
        return [*value["value"], *free]
    return value["value"]


def _options(options: Sequence[str | Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"id": item, "label": item} if isinstance(item, str) else dict(item) for item in options
    ]


def check_request(request: Mapping[str, Any]) -> None:
    """Check that a request can be answered and its answer read; AgentError if not."""
    questions = request.get("questions") or ()
    if not questions and not request.get("message") and not request.get("url"):
        raise _unanswerable("it asks nothing: there is no question, no message and no url")
    check_unique([question["id"] for question in questions], "questions")
    for question in questions:
        _check_question(question)


def _check_question(question: Mapping[str, Any]) -> None:
    name = f"the question {question['id']!r}"
    counts = question["kind"] in ("text", "multi-select")
    least, most = question.get("min", 0 if counts else None), question.get("max")
    if least is not None and most is not None and least > most:
        raise _unanswerable(f"{name} wants at least {least:g} and at most {most:g}")
    if "options" not in question:
        return
    check_unique([option["id"] for option in question["options"]], f"options of {name}")
    if question.get("allowFreeformInput"):
        return
    # What is not required can still be left open.
    if question.get("required") and not question["options"]:
        raise _unanswerable(f"{name} must be answered and offers nothing to choose from")
    if question.get("required") and (least or 0) > len(question["options"]):
        raise _unanswerable(f"{name} wants more choices than it offers")


def check_unique(ids: Iterable[str], what: str) -> None:
    """Check that no two ids are the same; AgentError if some are."""
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            raise _unanswerable(f"two {what} are called {id!r}")
        seen.add(id)


def _unanswerable(why: str) -> AgentError:
    return AgentError(f"the agent made a mistake: {why}", "badAction")
