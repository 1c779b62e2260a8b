"""What a client says and reads, each version in its own words.

Written against the specification of each version, like the client: nothing of the product's own
translation is used here, so that a fault in it shows.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

__all__ = [
    "annotated_by",
    "annotation",
    "exit_code",
    "failure_of",
    "failure_told",
    "forked_from",
    "knows_times",
    "since",
    "toggled",
    "turn_cancelled",
    "turn_started",
    "user_message",
]

Json = dict[str, Any]


def since(version: str, first: str) -> bool:
    """Whether a version is the named one or a later one."""
    return tuple(map(int, version.split("."))) >= tuple(map(int, first.split(".")))


def knows_times(version: str) -> bool:
    """Whether turns carry startedAt and duration."""
    return since(version, "0.6.0")


def user_message(text: str, **more: Any) -> Json:
    return {"text": text, "origin": {"kind": "user"}, **more}


def turn_started(version: str, turn_id: str, text: str) -> Json:
    """Return the action that starts a turn."""
    action: Json = {"type": "chat/turnStarted", "turnId": turn_id, "message": user_message(text)}
    if knows_times(version):
        # Of now, because since 0.9.0 it is the time at which the chat was last used.
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        action["startedAt"] = now.replace("+00:00", "Z")
    return action


def turn_cancelled(version: str, turn_id: str) -> Json:
    """Return the action that cancels a turn."""
    action: Json = {"type": "chat/turnCancelled", "turnId": turn_id}
    return {**action, "duration": 1} if knows_times(version) else action


def failure_of(turn: Json) -> Json:
    """Return why a completed turn failed, nothing where it did not.

    A member says so up to 0.8.0, the last error part since.
    """
    errors = [turn["error"]] if "error" in turn else []
    errors += [part["error"] for part in turn["responseParts"] if part["kind"] == "error"]
    failed: Json = errors[-1] if errors and turn["state"] == "error" else {}
    return failed


def failure_told(action: Json) -> Json:
    """Return why a turn failed, by the action that says so."""
    error: Json = action["part"]["error"] if "part" in action else action["error"]
    return error


def annotated_by(version: str, session: str, chat: str = "", turn_id: str = "") -> Json:
    """Return the member that says where an annotation comes from: of a turn, or of nobody's."""
    if not since(version, "0.9.0"):
        return {"turnId": turn_id}
    origin = {"session": session, "chat": chat, "turnId": turn_id}
    return {"origin": {key: value for key, value in origin.items() if value}}


def annotation(version: str, id: str, session: str, chat: str = "", turn_id: str = "") -> Json:
    """Return the action that sets an annotation with one entry."""
    return {
        "type": "annotations/set",
        "annotation": {
            "id": id,
            **annotated_by(version, session, chat, turn_id),
            "resource": "file:///srv/a.py",
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 4}},
            "resolved": False,
            "entries": [{"id": "e1", "text": "Why?", "_meta": {"mine": None}}],
        },
    }


def toggled(version: str, id: str, enabled: bool) -> Json:
    """Return the action that switches a customization on or off for its session."""
    action: Json = {"type": "session/customizationToggled", "id": id}
    if since(version, "0.8.0"):
        return {**action, "enablement": [{"kind": "session", "enabled": enabled}]}
    return {**action, "enabled": enabled}


def exit_code(terminal: Json) -> int | None:
    """Return with which code a terminal's process ended; None while it runs or is not known."""
    code: int | None = terminal.get("lifecycle", terminal).get("exitCode")
    return code


def forked_from(version: str, session: str, turn_id: str) -> Json:
    """Return what ``createSession`` is asked for besides, to begin with another's turns."""
    source = {"session": session, "turnId": turn_id}
    return {"_meta": {"agenthost/fork": source}} if since(version, "0.9.0") else {"fork": source}
