"""What cannot be asked of people: prompts that nobody could answer, or whose answer is no answer.

Refused in clear words before anybody sees them. That a prompt has the protocol's form is the
business of ``emitting``; whether an answer fits its question is the host's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agenthost.agents.api import AgentError


def check_options(options: Iterable[Any]) -> None:
    """Refuse the choices under an approval when nobody could tell which one was meant."""
    ids = [item.get("id") for item in options if isinstance(item, Mapping)]
    _check_ids((id for id in ids if isinstance(id, str)), "options of an approval")


def check_request(request: Mapping[str, Any]) -> None:
    """Refuse a well-formed request that nobody could answer, or whose answer nobody could read."""
    questions = request.get("questions") or ()
    if not questions and not request.get("message") and not request.get("url"):
        raise _unanswerable("it asks nothing: there is no question, no message and no url")
    _check_ids([question["id"] for question in questions], "questions")
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
    _check_ids([option["id"] for option in question["options"]], f"options of {name}")
    if question.get("allowFreeformInput"):
        return
    # What is not required can still be left open.
    if question.get("required") and not question["options"]:
        raise _unanswerable(f"{name} must be answered and offers nothing to choose from")
    if question.get("required") and (least or 0) > len(question["options"]):
        raise _unanswerable(f"{name} wants more choices than it offers")


def _check_ids(ids: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            raise _unanswerable(f"two {what} are called {id!r}")
        seen.add(id)


def _unanswerable(why: str) -> AgentError:
    return AgentError(f"the agent made a mistake: {why}", "badAction")
