"""Makes the schemas of MCP servers' and clients' tools fit for models, and replaces broken ones.

A provider refuses a whole request over one schema that makes no sense, so a single tool would keep
a model from answering anything. Such a schema is replaced: the tool can still be called, and its
owner says what is wrong with the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agenthost.protocol.jsonrpc import dumps

# Bytes of a schema that a model is told, how deep it may be, and how many schemas are in it.
MOST_SCHEMA: Final = 32 * 1024
DEEPEST: Final = 32
MOST_INNER: Final = 2000
ANY_ARGUMENTS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {},
    "additionalProperties": True,
}

# What holds schemas by name, schemas in a row, and one schema.
_BY_NAME: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_IN_A_ROW: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE: Final = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames",
               "then")  # fmt: skip


class _Unusable(Exception):
    """A schema that is none."""


def usable_schema(schema: object) -> dict[str, Any]:
    """Return the schema of a tool's arguments, or one for any where it cannot be used."""
    try:
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            raise _Unusable
        _check(schema)
        if len(dumps(schema)) > MOST_SCHEMA:
            raise _Unusable
    except (_Unusable, TypeError):
        return dict(ANY_ARGUMENTS)
    return dict(schema)


def _check(whole: Mapping[str, Any]) -> None:
    """Raise _Unusable unless a schema has the form of one, down to the last."""
    level: list[Mapping[str, Any]] = [whole]
    seen = 0
    for _ in range(DEEPEST):
        if not level:
            return
        seen += len(level)
        if seen > MOST_INNER:
            raise _Unusable
        level = [inner for each in level for inner in _inner(each, whole)]
    raise _Unusable


def _inner(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return the schemas inside of one; those that are only true or false have none."""
    _check_words(schema, whole)
    found: list[object] = []
    for key in _BY_NAME:
        if not isinstance(schema.get(key, {}), Mapping):
            raise _Unusable
        found += schema.get(key, {}).values()
    for key in _IN_A_ROW:
        if not isinstance(schema.get(key, []), list):
            raise _Unusable
        found += schema.get(key, [])
    found += [schema[key] for key in _ONE if key in schema]
    for each in found:
        if isinstance(each, Mapping):
            yield each
        elif not isinstance(each, bool):
            raise _Unusable


def _check_words(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
    types = schema.get("type", [])
    required = schema.get("required", [])
    for words in ([types] if isinstance(types, str) else types, required):
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise _Unusable
    if not isinstance(schema.get("enum", []), list):
        raise _Unusable
    if "$ref" in schema and not _leads_somewhere(schema["$ref"], whole):
        raise _Unusable


def _leads_somewhere(reference: object, whole: Mapping[str, Any]) -> bool:
    """Say whether a reference leads to a schema inside of the same one."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return False
    found: object = whole
    for name in reference.removeprefix("#").split("/")[1:]:
        plain = name.replace("~1", "/").replace("~0", "~")
        found = found.get(plain) if isinstance(found, Mapping) else None
    return isinstance(found, Mapping | bool)
