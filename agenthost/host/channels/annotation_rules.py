"""Rules for annotations: an annotation has at least one entry, and edits name what exists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agenthost.errors import shortened
from agenthost.host.channels.ranges import is_range

if TYPE_CHECKING:
    from agenthost.host.channels.rule_context import RuleContext, Rules
    from agenthost.protocol.annotations import Annotation, AnnotationOrigin, AnnotationsState
    from agenthost.protocol.common import Action, JsonObject

_NAMELESS = "annotations and their entries need ids"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _find(state: AnnotationsState, id: str) -> Annotation | None:
    return next((one for one in state["annotations"] if one["id"] == id), None)


def _set(state: AnnotationsState, action: Action, context: RuleContext) -> str | None:
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
    return _check_anchor(known, annotation, context)


def _check_anchor(known: Annotation | None, change: JsonObject, context: RuleContext) -> str | None:
    """Check where an annotation is to stand: the file, the place in it, and what it is about."""
    resource, place, origin = (change.get(key) for key in ("resource", "range", "origin"))
    if resource is not None and _SCHEME.match(resource) is None:
        return (
            f"an annotation is about a file's URI, and {shortened(resource) or 'nothing'} is none"
        )
    if place is not None and not is_range(place):
        return "the range of an annotation begins in the file and does not end before it begins"
    if origin is None or (known is not None and origin == known.get("origin")):
        # An annotation may outlive its turn.
        return None
    return _check_origin(origin, context)


def _check_origin(origin: AnnotationOrigin, context: RuleContext) -> str | None:
    """Check where an annotation says that it comes from: this session, and maybe a turn in it."""
    chat, turn = origin.get("chat"), origin.get("turnId")
    if origin["session"] != context.session_uri:
        return "an annotation comes from the session that it belongs to"
    chats = context.session["chats"] if context.session is not None else ()
    if chat is not None and all(entry["resource"] != chat for entry in chats):
        return f"there is no chat {shortened(chat)} in this session"
    # Editors comment on files as they are, which is no turn's.
    if not turn:
        return None
    if turn not in context.turns:
        return f"there is no turn {shortened(turn)} in this session"
    if chat is not None and context.turns[turn] != chat:
        return f"turn {shortened(turn)} is in another chat"
    return None


def _known(state: AnnotationsState, action: Action, context: RuleContext) -> str | None:
    if _find(state, action["annotationId"]) is not None:
        return None
    return f"there is no annotation {action['annotationId']}: it may have been removed"


def _updated(state: AnnotationsState, action: Action, context: RuleContext) -> str | None:
    known = _find(state, action["annotationId"])
    if known is not None and "entries" in action:
        return "an update leaves the entries alone: set the annotation, or its entries one by one"
    return _known(state, action, context) or _check_anchor(known, action, context)


def _entry_set(state: AnnotationsState, action: Action, context: RuleContext) -> str | None:
    return _known(state, action, context) or (None if action["entry"]["id"] else _NAMELESS)


def _entry_removed(state: AnnotationsState, action: Action, context: RuleContext) -> str | None:
    annotation = _find(state, action["annotationId"])
    if annotation is None:
        return _known(state, action, context)
    if all(entry["id"] != action["entryId"] for entry in annotation["entries"]):
        return f"there is no entry {action['entryId']}: it may have been removed"
    if len(annotation["entries"]) == 1:
        return "the last entry cannot be removed: remove the annotation"
    return None


RULES: Rules[AnnotationsState] = {
    "annotations/set": _set,
    "annotations/updated": _updated,
    "annotations/removed": _known,
    "annotations/entrySet": _entry_set,
    "annotations/entryRemoved": _entry_removed,
}
