"""The published JSON Schemas of every version, made usable definition by definition.

Their known defects are mended here: what is omitted on the wire is not required, nested objects
that are described as strings are not described at all, and the status is the bitset that it is.
Otherwise they are made stricter: a member that a version does not describe is an error, because a
translation must not leave anything of a newer version behind.
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

STATES = {
    "root": "RootState",
    "session": "SessionState",
    "chat": "ChatState",
    "changeset": "ChangesetState",
    "terminal": "TerminalState",
    "annotations": "AnnotationsState",
    "automation": "AutomationState",
    "automationRun": "AutomationRunState",
}


def complaints(version: str, definition: str, value: Any) -> list[str]:
    """Return what is wrong with a value, if it is to be an instance of a definition."""
    errors = _validator(version, definition).iter_errors(value)
    return [f"{error.json_path}: {error.message}" for error in errors]


def action_definitions(version: str, action: Json) -> list[str]:
    """Return the definitions that describe an action, by its type."""
    return [
        name
        for name, definition in _definitions(version).items()
        if definition.get("properties", {}).get("type", {}).get("const") == action["type"]
    ]


@cache
def _validator(version: str, definition: str) -> Validator:
    schema = {"$ref": f"#/$defs/{definition}", "$defs": _definitions(version)}
    return Draft202012Validator(schema)


@cache
def _definitions(version: str) -> Json:
    mended = {name: _mended(definition) for name, definition in definitions(version).items()}
    return {**mended, "SessionStatus": {"type": "integer", "minimum": 0}}


def _mended(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_mended(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    mended = {key: _mended(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        mended["properties"] = {
            name: {} if name in MISTYPED else member
            for name, member in mended["properties"].items()
        }
        mended["required"] = [name for name in schema.get("required", []) if name not in OMITTED]
        mended.setdefault("additionalProperties", False)
    # Alternatives overlap where they tell nothing apart, so one match is not required to be alone.
    if "oneOf" in mended:
        mended["anyOf"] = mended.pop("oneOf")
    return mended
