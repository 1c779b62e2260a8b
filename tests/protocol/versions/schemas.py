"""The published JSON Schemas of every version, made usable definition by definition.

Their known defects are mended here: what is omitted on the wire is not required, nested objects
that are described as strings are not described at all, the status is the bitset that it is, and
empty or dangling alternatives are dropped (before 0.5.2 enumerations dangle, so their values go
unchecked there; names of members do not). Otherwise they are made stricter: a member that a version
does not describe is an error, because a translation must not leave anything of a newer version
behind.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from tests.protocol.versions.published import definitions

Json = dict[str, Any]

# Marked as required although peers omit them.
OMITTED = {"origin", "usage", "activity", "_meta", "changesets", "operations"}
# Described as strings, or as objects of strings, although they are neither.
MISTYPED = {"edits", "before", "after", "inputSchema", "outputSchema"}

# The status is a bitset, and null is a primitive value, whose description is empty before 0.5.2.
CORRECTED: Json = {
    "SessionStatus": {"type": "integer", "minimum": 0},
    "JsonPrimitive": {"type": ["string", "number", "boolean", "null"]},
}

STATES = {
    "root": "RootState",
    "session": "SessionState",
    "chat": "ChatState",
    "changeset": "ChangesetState",
    "terminal": "TerminalState",
    "annotations": "AnnotationsState",
    "automation": "AutomationState",
    "automationRun": "AutomationRunState",
    "canvas": "CanvasState",
}


def complaints(version: str, definition: str, value: Any) -> list[str]:
    """Return what is wrong with a value, if it is to be an instance of a definition."""
    errors = _validator(version, definition).iter_errors(value)
    return [f"{definition} {error.json_path}: {error.message[:300]}" for error in errors]


def complaints_about_action(version: str, action: Json) -> list[str]:
    """Return what is wrong with an action: nothing, if one of its definitions describes it."""
    wrong = [complaints(version, name, action) for name in _describing(version, action["type"])]
    if not wrong:
        return [f"{version} has no {action['type']}"]
    return [] if [] in wrong else wrong[0]


def _describing(version: str, action_type: str) -> list[str]:
    """Return the definitions of an action; there are two where a member tells variants apart."""
    # How schemas before 0.5.2 name an action's type.
    name = "".join(word[0].upper() + word[1:] for word in action_type.split("/"))
    marks: tuple[Json, ...] = ({"const": action_type}, {"$ref": f"#/$defs/ActionType.{name}"})
    return [
        title
        for title, definition in definitions(version).items()
        if any(mark.items() <= _type_of(definition).items() for mark in marks)
    ]


def _type_of(definition: Json) -> Json:
    found: Json = definition.get("properties", {}).get("type", {})
    return found


@cache
def _validator(version: str, definition: str) -> Validator:
    schema = {"$ref": f"#/$defs/{definition}", "$defs": _mended_definitions(version)}
    return Draft202012Validator(schema)


@cache
def _mended_definitions(version: str) -> Json:
    published = definitions(version)
    mended = {name: _mended(definition, published) for name, definition in published.items()}
    # States and actions are held against their own definitions, which makes better complaints.
    mended["Snapshot"]["properties"]["state"] = {"type": "object"}
    mended["StateAction"] = {"type": "object"}
    return {**mended, **CORRECTED}


def _mended(schema: Any, known: Json) -> Any:
    if isinstance(schema, list):
        return [_mended(item, known) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if _dangles(schema, known):
        return {}
    members = schema.get("properties")
    mended = {key: _mended(value, known) for key, value in schema.items() if key != "properties"}
    if isinstance(members, dict):
        mended["properties"] = {
            name: {} if name in MISTYPED else _mended(member, known)
            for name, member in members.items()
        }
        mended["required"] = [name for name in schema.get("required", []) if name not in OMITTED]
        mended.setdefault("additionalProperties", False)
    alternatives = mended.pop("oneOf", None) or mended.pop("anyOf", None)
    if alternatives is not None:
        # They overlap where they tell nothing apart, so one match is not required to be alone.
        described = [alternative for alternative in alternatives if alternative]
        if described:
            mended["anyOf"] = described
    return mended


def _dangles(schema: Json, known: Json) -> bool:
    reference = schema.get("$ref")
    return isinstance(reference, str) and reference.removeprefix("#/$defs/") not in known
