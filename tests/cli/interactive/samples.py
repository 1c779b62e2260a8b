"""Small chats, made by hand, as the protocol has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agenthost.cli.interactive.display.styled_text import StyledLine, text_of

__all__ = [
    "CHAT",
    "OPTIONS",
    "QUESTIONS",
    "SESSION",
    "active",
    "call",
    "chat",
    "markdown",
    "pending_call",
    "reasoning",
    "request",
    "shown",
    "tool",
    "turn",
]

Json = dict[str, Any]

CHAT = "ahp-chat:/c"
SESSION: Json = {"chats": [{"resource": CHAT, "title": "Chat", "status": 1}], "activeClients": []}

OPTIONS = [
    {"id": "allow-once", "label": "Allow once", "kind": "approve", "group": 0},
    {"id": "allow-in-session", "label": "Allow in this session", "kind": "approve", "group": 0},
    {"id": "deny", "label": "Deny", "kind": "deny", "group": 1},
    {"id": "deny-with-reason", "label": "Deny with a reason", "kind": "deny", "group": 1},
]

QUESTIONS: list[Json] = [
    {"id": "name", "kind": "text", "message": "Name?", "required": True, "min": 1, "max": 9},
    {"id": "age", "kind": "integer", "message": "Age?", "min": 0, "max": 150},
    {"id": "height", "kind": "number", "message": "Height?"},
    {"id": "happy", "kind": "boolean", "message": "Happy?", "defaultValue": True},
    {
        "id": "colour",
        "kind": "single-select",
        "message": "Colour?",
        "options": [{"id": "r", "label": "red"}, {"id": "g", "label": "green"}],
        "allowFreeformInput": True,
    },
    {
        "id": "fruit",
        "kind": "multi-select",
        "message": "Fruit?",
        "options": [{"id": "a", "label": "apple"}, {"id": "p", "label": "pear"}],
    },
]


def markdown(content: str, id: str = "m") -> Json:
    return {"kind": "markdown", "id": id, "content": content}


def reasoning(content: str, id: str = "r") -> Json:
    return {"kind": "reasoning", "id": id, "content": content}


def call(status: str = "completed", **fields: Any) -> Json:
    made: Json = {
        "toolCallId": "t",
        "toolName": "shell",
        "displayName": "Shell",
        "invocationMessage": "Run `ls`",
        "toolInput": "ls",
        "status": status,
    }
    if status == "completed":
        made |= {"success": True, "pastTenseMessage": "Ran it", "confirmed": "not-needed"}
    if status == "cancelled":
        made |= {"reason": "denied"}
    return {**made, **fields}


def pending_call(**fields: Any) -> Json:
    asked = {"confirmationTitle": "Run this?", "editable": True, "options": OPTIONS}
    return call("pending-confirmation", **{**asked, **fields})


def tool(made: Json | None = None) -> Json:
    return {"kind": "toolCall", "toolCall": call() if made is None else made}


def request(response: str | None = None, **fields: Any) -> Json:
    asked = {"id": "q", "message": "Some questions", "questions": QUESTIONS, **fields}
    part: Json = {"kind": "inputRequest", "request": asked}
    return part if response is None else {**part, "response": response}


def active(*parts: Json, id: str = "1", text: str = "hi") -> Json:
    message = {"text": text, "origin": {"kind": "user"}}
    return {"id": id, "startedAt": "", "message": message, "responseParts": list(parts)}


def turn(*parts: Json, id: str = "1", state: str = "complete", **fields: Any) -> Json:
    return {**active(*parts, id=id), "state": state, **fields}


def chat(*turns: Json, running: Json | None = None, **fields: Any) -> Json:
    made: Json = {"resource": CHAT, "title": "Chat", "status": 1, "turns": list(turns), **fields}
    return made if running is None else {**made, "activeTurn": running}


def shown(lines: Iterable[StyledLine]) -> list[str]:
    """Return the text of lines, without what only sets them apart."""
    return [text_of(item) for item in lines]
