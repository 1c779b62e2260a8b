"""Why a turn failed: parts of its response in 0.9.0, one member beside them in 0.8.0."""

from __future__ import annotations

from typing import Any

from agenthost.protocol.json_edits import carry, without
from agenthost.protocol.versions.node_edits import Json, inside, put
from agenthost.protocol.versions.step import DownContext, Untranslatable, UpContext


def is_error(part: Any) -> bool:
    """Say whether a part tells a failure; there is one for each time that the turn failed."""
    return isinstance(part, dict) and part.get("kind") == "error"


def without_error_parts(turn: Json) -> Json:
    """Return a turn without its error parts."""
    parts = turn.get("responseParts")
    if not isinstance(parts, list) or not any(map(is_error, parts)):
        return turn
    return {**turn, "responseParts": [part for part in parts if not is_error(part)]}


def turn_down(turn: Json) -> Json:
    """Return a completed turn with its last failure beside its parts, if that is how it ended."""
    older = without_error_parts(turn)
    if older is turn or turn.get("state") != "error":
        return older
    last = next(part for part in reversed(turn["responseParts"]) if is_error(part))
    return put(older, "error", last.get("error"))


def turn_up(turn: Json) -> Json:
    """Return a completed turn with its failure as the last of its parts.

    No older host can resume a turn, so the part does not say that it can be.
    """
    if "error" not in turn:
        return turn
    error, newer = turn["error"], without(turn, "error")
    if error is None:
        return newer
    part = {"kind": "error", "error": error}
    return inside(newer, "responseParts", lambda parts: _appended(parts, part))


def _appended(parts: Any, part: Json) -> Any:
    return [*parts, part] if isinstance(parts, list) else parts


def error_down(action: Json, context: DownContext) -> list[Json]:
    """Say why a turn failed without a part."""
    return [{**without(action, "part"), **carry(action["part"], "error")}]


def error_up(action: Json, context: UpContext) -> Json:
    """Say why a turn failed in a part."""
    return {**without(action, "error"), "part": {"kind": "error", **carry(action, "error")}}


def response_part_up(action: Json, context: UpContext) -> Json:
    """Refuse a part of a kind that 0.8.0 has not, and that 0.9.0 does not take in this way."""
    if is_error(action.get("part")):
        raise Untranslatable("no error part can be added in this protocol version")
    return action
