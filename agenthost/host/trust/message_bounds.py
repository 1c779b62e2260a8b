"""Limits on names and lists that clients send: they are stored, and shown to everybody (pure).

By the names of members, wherever they stand, so that a new action needs no entry here. What people
and tools write at length (messages, results, inputs) is bounded by the size of a frame alone, and
what belongs to others (schemas, ``_meta``, settings) is not looked into.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agenthost.protocol.common import Action, JsonObject

LONGEST_ID = 512
LONGEST_NAME = 2_000
LONGEST_URI = 8_192
LONGEST_DESCRIPTION = 20_000
# Of what people bring to sign in with: many are kept, to be taken out of what agents say.
LONGEST_TOKEN = 64 * 1024
# Members and items of all that is looked into.
MOST_PARTS = 100_000
# What one channel keeps. A queue is worked off one turn after the other.
MOST_QUEUED = 100
MOST_ANNOTATIONS = 10_000
MOST_ENTRIES = 1_000
MOST_DIRECTORIES = 100

_LONGEST = {
    "id": LONGEST_ID,
    "provider": LONGEST_ID,
    "progressToken": LONGEST_ID,
    "token": LONGEST_TOKEN,
    "title": LONGEST_NAME,
    "name": LONGEST_NAME,
    "label": LONGEST_NAME,
    "displayName": LONGEST_NAME,
    "description": LONGEST_DESCRIPTION,
    "reason": LONGEST_DESCRIPTION,
    "reasonMessage": LONGEST_DESCRIPTION,
    "uri": LONGEST_URI,
    "resource": LONGEST_URI,
    "directory": LONGEST_URI,
    "replacement": LONGEST_URI,
}
_FOREIGN = frozenset(
    {"_meta", "config", "editedToolInput", "inputSchema", "outputSchema", "structuredContent",
     "toolInput", "values"}
)  # fmt: skip


def check_lengths(value: JsonObject) -> str | None:
    """Return which text of a message is too long for what it is, or None."""
    waiting: list[JsonObject | list[object]] = [value]
    parts = 0
    while waiting:
        holder = waiting.pop()
        parts += len(holder)
        if parts > MOST_PARTS:
            return f"it has more than {MOST_PARTS:,} parts"
        if isinstance(holder, list):
            waiting += [item for item in holder if isinstance(item, dict | list)]
            continue
        for key, held in holder.items():
            if isinstance(held, str):
                longest = LONGEST_ID if key.endswith("Id") else _LONGEST.get(key)
                # Content that is part of its URI is as long as content is.
                if longest is not None and len(held) > longest and not held.startswith("data:"):
                    return f"{key} is longer than {longest:,} characters"
            elif key == "workingDirectories" and isinstance(held, list):
                if len(held) > MOST_DIRECTORIES:
                    return f"at most {MOST_DIRECTORIES:,} working directories are kept"
                waiting += [{"directory": directory} for directory in held]
            elif isinstance(held, dict | list) and key not in _FOREIGN:
                waiting.append(held)
    return None


def check_bounds(state: Any, action: Action) -> str | None:
    """Return what a client's action has too much of, by itself or in this state, or None."""
    return check_lengths(action) or _check_count(state, action)


def _check_count(state: Any, action: Action) -> str | None:
    match action["type"]:
        case "chat/pendingMessageSet" if action["kind"] == "queued":
            queued = state.get("queuedMessages") or ()
            return _full(queued, action["id"], MOST_QUEUED, "messages are waiting")
        case "annotations/set":
            if len(action["annotation"]["entries"]) > MOST_ENTRIES:
                return f"an annotation has at most {MOST_ENTRIES:,} entries"
            new = action["annotation"]["id"]
            kept = state["annotations"]
            return _full(kept, new, MOST_ANNOTATIONS, "annotations are kept")
        case "annotations/entrySet":
            named = (a for a in state["annotations"] if a["id"] == action["annotationId"])
            entries = next(named, {"entries": ()})["entries"]
            return _full(entries, action["entry"]["id"], MOST_ENTRIES, "entries are kept")
        case "session/workingDirectorySet" | "chat/workingDirectorySet":
            directories = state.get("workingDirectories") or ()
            if action["directory"] not in directories and len(directories) >= MOST_DIRECTORIES:
                return f"at most {MOST_DIRECTORIES:,} working directories are kept"
    return None


def _full(items: Sequence[JsonObject], new: str, most: int, what: str) -> str | None:
    """Say that a list is full, unless the item replaces one that it has."""
    if len(items) < most or any(item["id"] == new for item in items):
        return None
    return f"at most {most:,} {what} at once"
