"""The actions that a client dispatches, built from plain values.

Pure. Owns their shape, and how plain Python values answer an agent's questions. Whether an action
is acceptable is for the host to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agenthost.protocol.json_edits import index_by

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

__all__ = [
    "answers_to",
    "approval",
    "completion",
    "content_change",
    "decided",
    "denial",
    "input_completed",
    "pending_message",
    "turn_cancelled",
    "turn_resumed",
    "turn_started",
    "user_message",
]


def user_message(
    text: str,
    *,
    attachments: Sequence[Mapping[str, Any]] = (),
    model: str | Mapping[str, Any] | None = None,
    agent: str | None = None,
) -> JsonObject:
    """Build a message that a person sends; ``model`` is an id or a selection, ``agent`` a URI."""
    message: JsonObject = {"text": text, "origin": {"kind": "user"}}
    if attachments:
        message["attachments"] = [dict(attachment) for attachment in attachments]
    if model is not None:
        message["model"] = {"id": model} if isinstance(model, str) else dict(model)
    if agent is not None:
        message["agent"] = {"uri": agent}
    return message


def turn_started(turn_id: str, message: Mapping[str, Any], now: str) -> JsonObject:
    """Build the action that starts a turn."""
    return {
        "type": "chat/turnStarted",
        "turnId": turn_id,
        "startedAt": now,
        "message": dict(message),
    }


def turn_resumed(turn_id: str) -> JsonObject:
    """Build the action that goes on with a turn that failed."""
    return {"type": "chat/turnResume", "turnId": turn_id}


def turn_cancelled(turn_id: str, duration: int) -> JsonObject:
    """Build the action that stops a turn; ``duration`` is in milliseconds."""
    return {"type": "chat/turnCancelled", "turnId": turn_id, "duration": duration}


def pending_message(
    kind: Literal["queued", "steering"], id: str, message: Mapping[str, Any]
) -> JsonObject:
    """Build the action that queues a message, or steers with it."""
    return {"type": "chat/pendingMessageSet", "kind": kind, "id": id, "message": dict(message)}


def approval(
    turn_id: str,
    call: Mapping[str, Any],
    *,
    option: str | None = None,
    edited_input: str | None = None,
) -> JsonObject:
    """Build the action that approves a call, or its result, whichever waits."""
    target = _target(turn_id, call)
    if call["status"] == "pending-result-confirmation":
        return {"type": "chat/toolCallResultConfirmed", **target, "approved": True}
    action = {"type": "chat/toolCallConfirmed", **target, "approved": True}
    action["confirmed"] = "user-action"
    if edited_input is not None:
        action["editedToolInput"] = edited_input
    return _with_option(action, option)


def denial(
    turn_id: str,
    call: Mapping[str, Any],
    *,
    option: str | None = None,
    reason: str | None = None,
    suggestion: str | None = None,
    skip: bool = False,
) -> JsonObject:
    """Build the action that denies a call, or its result; ``suggestion`` tells the agent more."""
    target = _target(turn_id, call)
    if call["status"] == "pending-result-confirmation":
        return {"type": "chat/toolCallResultConfirmed", **target, "approved": False}
    action = {"type": "chat/toolCallConfirmed", **target, "approved": False}
    action["reason"] = "skipped" if skip else "denied"
    if reason is not None:
        action["reasonMessage"] = reason
    if suggestion is not None:
        action["userSuggestion"] = user_message(suggestion)
    return _with_option(action, option)


def completion(turn_id: str, call_id: str, result: Mapping[str, Any]) -> JsonObject:
    """Build the action that completes a client's own tool call."""
    return {
        "type": "chat/toolCallComplete",
        "turnId": turn_id,
        "toolCallId": call_id,
        "result": dict(result),
    }


def content_change(turn_id: str, call_id: str, content: Sequence[Mapping[str, Any]]) -> JsonObject:
    """Build the action that replaces what a client's running tool call shows so far."""
    return {
        "type": "chat/toolCallContentChanged",
        "turnId": turn_id,
        "toolCallId": call_id,
        "content": [dict(block) for block in content],
    }


def decided(
    session: Mapping[str, Any], customization_id: str, enabled: bool, scope: str
) -> list[JsonObject]:
    """Return the decisions about a customization with another one in; the first of them counts.

    ``scope`` is "session", "global" or the URI of a workspace.
    """
    decision: JsonObject
    if scope in ("session", "global"):
        decision = {"kind": scope, "enabled": enabled}
    else:
        decision = {"kind": "workspace", "uri": scope, "enabled": enabled}
    others = [
        former
        for former in _decisions(session, customization_id)
        if (former.get("kind"), former.get("uri")) != (decision["kind"], decision.get("uri"))
    ]
    return sorted([decision, *others], key=_narrowness)


def _decisions(session: Mapping[str, Any], customization_id: str) -> Sequence[JsonObject]:
    for entry in session.get("customizations") or ():
        for found in (entry, *(entry.get("children") or ())):
            if found["id"] == customization_id:
                return found.get("enablement") or ()
    return ()


def _narrowness(decision: JsonObject) -> int:
    """Sort what holds for less before what holds for more; kinds we do not know keep behind."""
    order = {"session": 0, "workspace": 1, "global": 2}
    return order.get(decision["kind"], len(order))


def input_completed(
    request_id: str,
    response: Literal["accept", "decline", "cancel"],
    answers: Mapping[str, Any] | None = None,
) -> JsonObject:
    """Build the action that settles an agent's questions."""
    action: JsonObject = {
        "type": "chat/inputCompleted",
        "requestId": request_id,
        "response": response,
    }
    if answers:
        action["answers"] = dict(answers)
    return action


def answers_to(request: Mapping[str, Any], given: Any) -> JsonObject:
    """Turn plain values by question id into submitted answers; one value will do for one question.

    Text, numbers and booleans stand for themselves, options for their id or label, None for a
    skipped question; anything else said to a question with options is free text, where allowed.

    Raises:
        ValueError: a question that was not asked, or a value that cannot answer it.
    """
    questions = request.get("questions") or []
    if not isinstance(given, Mapping):
        if len(questions) != 1:
            raise ValueError("name the question that each answer is for")
        given = {questions[0]["id"]: given}
    answers: JsonObject = {}
    for question_id, value in given.items():
        index = index_by(questions, "id", question_id)
        if index is None:
            raise ValueError(f"there is no question {question_id!r}")
        answers[question_id] = _answer(questions[index], value)
    return answers


def _answer(question: Mapping[str, Any], value: Any) -> JsonObject:
    if value is None:
        return {"state": "skipped"}
    if isinstance(value, Mapping):
        # Spelled out already.
        return dict(value)
    return {"state": "submitted", "value": _value(question, value)}


def _value(question: Mapping[str, Any], value: Any) -> JsonObject:
    match question["kind"]:
        case "text" if isinstance(value, str):
            return {"kind": "text", "value": value}
        case "number" | "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            return {"kind": "number", "value": value}
        case "boolean" if isinstance(value, bool):
            return {"kind": "boolean", "value": value}
        case "single-select" if isinstance(value, str):
            chosen, free = _choose(question, [value])
            return _with_free({"kind": "selected", "value": chosen[0] if chosen else ""}, free)
        case "multi-select" if not isinstance(value, str):
            chosen, free = _choose(question, value)
            return _with_free({"kind": "selected-many", "value": chosen}, free)
    raise ValueError(f"{value!r} does not answer the {question['kind']} question {question['id']}")


def _choose(question: Mapping[str, Any], wanted: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the ids of the options that were meant, and what was said besides."""
    chosen: list[str] = []
    free: list[str] = []
    for word in wanted:
        ids = [option["id"] for option in question["options"] if option["id"] == word]
        ids += [option["id"] for option in question["options"] if option["label"] == word]
        if ids:
            chosen.append(ids[0])
        elif question.get("allowFreeformInput"):
            free.append(word)
        else:
            raise ValueError(f"{word!r} is no option of question {question['id']}")
    return chosen, free


def _with_free(value: JsonObject, free: list[str]) -> JsonObject:
    return {**value, "freeformValues": free} if free else value


def _with_option(action: JsonObject, option: str | None) -> JsonObject:
    return action if option is None else {**action, "selectedOptionId": option}


def _target(turn_id: str, call: Mapping[str, Any]) -> JsonObject:
    return {"turnId": turn_id, "toolCallId": call["toolCallId"]}
