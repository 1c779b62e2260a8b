"""Rules for annotations: an annotation has at least one entry, and edits name what exists."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agenthost.errors import shortened
from agenthost.host.channels.ranges import is_range
from agenthost.host.channels.rule_context import RuleContext

State = Mapping[str, Any]
Action = Mapping[str, Any]

_NAMELESS = "annotations and their entries need ids"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _find(state: State, id: str) -> Mapping[str, Any] | None:
    for annotation in state["annotations"]:
        if annotation["id"] == id:
            found: Mapping[str, Any] = annotation
            return found
    return None


def _set(state: State, action: Action, context: RuleContext) -> str | None:
    annotation = action["annotation"]
    entries = annotation["entries"]
    if not entries:
        return "an annotation needs at least one entry"
    if not annotation["id"] or not all(entry["id"] for entry in entries):
        return _NAMELESS
    if len({entry["id"] for entry in entries}) != len(entries):
        return "two entries of an annotation cannot have the same id"
    known = _find(state, annotation["id"])
    if known is None and annotation["resolved"]:
        return "a new annotation cannot be resolved already"
    return _check_anchor(known or {}, annotation, context)


def _check_anchor(known: State, change: Mapping[str, Any], context: RuleContext) -> str | None:
    """Check where an annotation is to stand: the file, the place in it, and the turn."""
    resource, place, turn = (change.get(key) for key in ("resource", "range", "turnId"))
    if resource is not None and _SCHEME.match(resource) is None:
        return (
            f"an annotation is about a file's URI, and {shortened(resource) or 'nothing'} is none"
        )
    if place is not None and not is_range(place):
        return "the range of an annotation begins in the file and does not end before it begins"
    # Editors comment on files as they are, which is no turn's; an annotation may outlive its turn.
    if not turn or turn == known.get("turnId") or turn in context.turns:
        return None
    return f"there is no turn {shortened(turn)} in this session"


def _known(state: State, action: Action, context: RuleContext) -> str | None:
    if _find(state, action["annotationId"]) is not None:
        return None
    return f"there is no annotation {action['annotationId']}: it may have been removed"


def _updated(state: State, action: Action, context: RuleContext) -> str | None:
    known = _find(state, action["annotationId"])
    if known is not None and "entries" in action:
        return "an update leaves the entries alone: set the annotation, or its entries one by one"
    return _known(state, action, context) or _check_anchor(known or {}, action, context)


def _entry_set(state: State, action: Action, context: RuleContext) -> str | None:
    return _known(state, action, context) or (None if action["entry"]["id"] else _NAMELESS)


def _entry_removed(state: State, action: Action, context: RuleContext) -> str | None:
    annotation = _find(state, action["annotationId"])
    if annotation is None:
        return _known(state, action, context)
    if all(entry["id"] != action["entryId"] for entry in annotation["entries"]):
        return f"there is no entry {action['entryId']}: it may have been removed"
    if len(annotation["entries"]) == 1:
        return "the last entry cannot be removed: remove the annotation"
    return None


RULES: dict[str, Callable[[State, Action, RuleContext], str | None]] = {
    "annotations/set": _set,
    "annotations/updated": _updated,
    "annotations/removed": _known,
    "annotations/entrySet": _entry_set,
    "annotations/entryRemoved": _entry_removed,
}
