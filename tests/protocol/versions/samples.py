"""Small states and actions for the tests of single steps, and short ways to translate them."""

from __future__ import annotations

from typing import Any

from agenthost.protocol.versions import Untranslatable, reduce, translator

__all__ = [
    "FIRST",
    "SECOND",
    "Json",
    "call",
    "chat",
    "down",
    "followed",
    "message",
    "on_call",
    "sent",
    "session",
    "tool_part",
    "turn",
    "up",
    "why_not",
]

Json = dict[str, Any]

NOW = "2026-01-01T00:00:05.500Z"
STARTED = "2026-01-01T00:00:01.000Z"

# Two errors to fail with.
FIRST = {"errorType": "quota", "message": "no more"}
SECOND = {"errorType": "network", "message": "gone"}


def message(*attachments: Json, text: str = "hi") -> Json:
    """Build a user's message."""
    origin = {"kind": "user"}
    return {
        "text": text,
        "origin": origin,
        **({"attachments": [*attachments]} if attachments else {}),
    }


def chat(*parts: Json, active: bool = True, **members: Any) -> Json:
    """Build a chat, with an active turn of those parts unless told otherwise."""
    state: Json = {"resource": "ahp-chat:/1", "title": "", "modifiedAt": "", "turns": []}
    if active:
        turn = {"id": "t", "startedAt": STARTED, "message": message()}
        state["activeTurn"] = {**turn, "responseParts": list(parts)}
    return {**state, "status": 8 if active else 1, **members}


def turn(*parts: Json, state: str = "error", **members: Any) -> Json:
    """Build a completed turn."""
    timing = {"startedAt": STARTED, "duration": 5}
    said = {"message": message(), "responseParts": list(parts)}
    return {"id": "u", **timing, **said, "state": state, **members}


def call(status: str, **members: Any) -> Json:
    """Build a tool call."""
    named = {"toolCallId": "c", "toolName": "n", "displayName": "Tool"}
    invoked = {} if status == "streaming" else {"invocationMessage": "m"}
    return {**named, "status": status, **invoked, **members}


def tool_part(status: str, **members: Any) -> Json:
    """Build the part of a tool call."""
    return {"kind": "toolCall", "toolCall": call(status, **members)}


def on_call(name: str, **members: Any) -> Json:
    """Build an action on the call of these samples."""
    return {"type": f"chat/toolCall{name}", "turnId": "t", "toolCallId": "c", **members}


def session(**members: Any) -> Json:
    """Build a session."""
    state = {"provider": "demo", "title": "", "status": 1, "lifecycle": "ready"}
    return {**state, "activeClients": [], "chats": [], **members}


def down(version: str, kind: str, state: Json) -> Json:
    """Translate a state to an older version."""
    translated: Json = translator(version).state_down(kind, state)
    return translated


def sent(version: str, kind: str, before: Json, action: Json, **options: Any) -> list[Json]:
    """Return what an old client is sent when an action happens."""
    after = reduce(kind, before, action, now=NOW)
    return translator(version).action_down(kind, before, action, after, **options)


def followed(version: str, kind: str, before: Json, *actions: Json) -> tuple[Json, Json]:
    """Return what an old client makes of some actions, and what a snapshot would give it."""
    held = down(version, kind, before)
    for action in actions:
        for told in sent(version, kind, before, action):
            held = reduce(kind, held, told, now=NOW, version=version)
        before = reduce(kind, before, action, now=NOW)
    return held, down(version, kind, before)


def up(version: str, kind: str, before: Json, action: Json, **options: Any) -> Json:
    """Return what an old peer's action means."""
    climbed: Json = translator(version).action_up(kind, action, before, now=NOW, **options)
    return climbed


def why_not(version: str, kind: str, before: Json, action: Json, **options: Any) -> str:
    """Return why an old peer's action is refused, or nothing when it is not."""
    try:
        up(version, kind, before, action, **options)
    except Untranslatable as error:
        return error.reason
    return ""
