"""Turns approvals and answers that were given here into actions for the remote host.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from agenthost.protocol.json_edits import carry_given, same

Json = Mapping[str, Any]
Action: TypeAlias = dict[str, Any]


def approval_of(near: Json, far: Json) -> dict[str, Any]:
    """Return how a call was approved here, with the input as somebody may have edited it."""
    approval: dict[str, Any] = {"confirmed": near.get("confirmed") or "user-action"}
    given = near.get("toolInput")
    if isinstance(given, str) and given != far.get("toolInput"):
        approval["editedToolInput"] = given
    return {**approval, **_chosen(near)}


def denial_of(near: Json) -> dict[str, Any]:
    """Return how a call was refused here."""
    said = carry_given(near, "reasonMessage", "userSuggestion")
    reason = "denied" if near["reason"] == "denied" else "skipped"
    return {"reason": reason, **said, **_chosen(near)}


def _chosen(near: Json) -> dict[str, Any]:
    option = near.get("selectedOption")
    return {} if option is None else {"selectedOptionId": option["id"]}


def result_of(near: Json) -> dict[str, Any]:
    """Return the result of a client's call that has ended here."""
    names = ("success", "pastTenseMessage", "content", "structuredContent", "error")
    return carry_given(near, *names)


def withheld_result(near: Json) -> dict[str, Any]:
    """Return what a client's call comes to whose result nobody is to have."""
    said = "the result was not approved" if near["reason"] == "result-denied" else "it was skipped"
    return {"success": False, "pastTenseMessage": said, "error": {"message": said}}


def input_answer(near: Json, far_id: str) -> Action | None:
    """Return how a question was answered here; None while it is open."""
    response = near.get("response")
    if response is None:
        return None
    action: Action = {"type": "chat/inputCompleted", "requestId": far_id, "response": response}
    answers = near["request"].get("answers")
    return {**action, "answers": answers} if answers else action


def changed_drafts(before: Json, after: Json, id: str) -> Iterator[Action]:
    """Yield what makes drafts of answers here those of the far host."""
    for question in {**before, **after}:
        if not same(before.get(question), after.get(question)):
            given = {"answer": after[question]} if question in after else {}
            yield _draft(id, question, **given)


def _draft(id: str, question: str, **given: Any) -> Action:
    ids = {"requestId": id, "questionId": question}
    return {"type": "chat/inputAnswerChanged", **ids, **given}


def forgotten_drafts(near: Json | None, answers: Json, id: str) -> Iterator[Action]:
    """Yield what takes back drafts of answers here that were not given in the end."""
    drafts = {} if near is None else near["request"].get("answers") or {}
    for question in drafts:
        if question not in answers:
            yield _draft(id, question)
