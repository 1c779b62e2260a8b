"""Rules for annotations: an annotation has at least one entry, and edits name what exists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agenthost.errors import shortened
from agenthost.host.rules.facts import Facts

__all__ = ["RULES"]

State = Mapping[str, Any]
Action = Mapping[str, Any]


def _find(state: State, action: Action) -> Mapping[str, Any] | None:
    for annotation in state["annotations"]:
        if annotation["id"] == action["annotationId"]:
            found: Mapping[str, Any] = annotation
            return found
    return None


def _set(state: State, action: Action, facts: Facts) -> str | None:
    annotation = action["annotation"]
    if not annotation["entries"]:
        return "an annotation needs at least one entry"
    if any(known["id"] == annotation["id"] for known in state["annotations"]):
        return None
    if annotation["resolved"]:
        return "a new annotation cannot be resolved already"
    if annotation["turnId"] not in facts.turns:
        return f"there is no turn {shortened(annotation['turnId'])} in this session"
    return None


def _known(state: State, action: Action, facts: Facts) -> str | None:
    if _find(state, action) is not None:
        return None
    return f"there is no annotation {action['annotationId']}: it may have been removed"


def _entry_removed(state: State, action: Action, facts: Facts) -> str | None:
    annotation = _find(state, action)
    if annotation is None:
        return _known(state, action, facts)
    if all(entry["id"] != action["entryId"] for entry in annotation["entries"]):
        return f"there is no entry {action['entryId']}: it may have been removed"
    if len(annotation["entries"]) == 1:
        return "the last entry cannot be removed: remove the annotation"
    return None


RULES: dict[str, Callable[[State, Action, Facts], str | None]] = {
    "annotations/set": _set,
    "annotations/updated": _known,
    "annotations/removed": _known,
    "annotations/entrySet": _known,
    "annotations/entryRemoved": _entry_removed,
}
