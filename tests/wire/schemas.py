"""The published JSON Schemas, made usable, and everything that a client was sent held against them.

Their known defects are mended: what is omitted on the wire is not required, nested objects that
are described as strings are not described at all, the status is the bitset that it is, and empty
or dangling alternatives are dropped (before 0.5.2 enumerations dangle, so their values go
unchecked there; names of fields do not). Otherwise they are made stricter: a field that a version
does not describe is an error, because nothing of a newer version may reach an older client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from tests.protocol.versions.published import SCHEMAS, definitions
from tests.wire.client import WireClient

__all__ = ["complaints_about", "needs_schemas"]

Json = dict[str, Any]

needs_schemas = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason=f"no schemas at {SCHEMAS}; set AGENTHOST_SHARED"
)

# Marked as required although peers omit them.
OMITTED = {"origin", "usage", "activity", "_meta", "changesets", "operations"}
# Described as strings, or as objects of strings, although they are neither.
MISTYPED = {"edits", "before", "after", "inputSchema", "outputSchema"}

STATES = {
    "root": "RootState",
    "session": "SessionState",
    "chat": "ChatState",
    "annotations": "AnnotationsState",
}
RESULTS = {
    "initialize": "InitializeResult",
    "subscribe": "SubscribeResult",
    "listSessions": "ListSessionsResult",
    "fetchTurns": "FetchTurnsResult",
    "completions": "CompletionsResult",
    "resolveSessionConfig": "ResolveSessionConfigResult",
    "sessionConfigCompletions": "SessionConfigCompletionsResult",
}
# Their result is null.
SILENT = {"ping", "createSession", "disposeSession", "createChat", "disposeChat"}
NOTIFICATIONS = {
    "root/sessionAdded": "SessionAddedParams",
    "root/sessionRemoved": "SessionRemovedParams",
    "root/sessionSummaryChanged": "SessionSummaryChangedParams",
    "root/progress": "ProgressParams",
}


def complaints_about(client: WireClient) -> list[str]:
    """Return what is wrong, in the client's version, with everything it was ever sent."""
    return [
        f"{complaint} in {json.dumps(message)[:600]}"
        for message in client.received
        for complaint in _about_message(client, message)
    ]


def _about_message(client: WireClient, message: Json) -> Iterator[str]:
    method, params = message.get("method"), message.get("params")
    if method == "action":
        yield from _about_envelope(client.version, params)
    elif method is not None:
        yield from _about(client.version, NOTIFICATIONS[method], params)
    elif "result" in message:
        yield from _about_result(client, client.asked[message["id"]], message["result"])


def _about_result(client: WireClient, method: str, result: Any) -> Iterator[str]:
    if method in SILENT:
        if result is not None:
            yield f"{method} answers {result!r} instead of null"
        return
    yield from _about(client.version, RESULTS[method], result)
    snapshots = [*result.get("snapshots", ()), *filter(None, [result.get("snapshot")])]
    for snapshot in snapshots:
        kind = client.kinds[snapshot["resource"]]
        yield from _about(client.version, STATES[kind], snapshot["state"])


def _about_envelope(version: str, envelope: Any) -> Iterator[str]:
    yield from _about(version, "ActionEnvelope", envelope)
    action = envelope["action"]
    wrong = [list(_about(version, name, action)) for name in _describing(version, action["type"])]
    if not wrong:
        yield f"{version} has no {action['type']}"
    elif [] not in wrong:
        yield "; ".join(wrong[0])


def _about(version: str, definition: str, value: Any) -> Iterator[str]:
    for error in _validator(version, definition).iter_errors(value):
        yield f"{definition} {error.json_path}: {error.message[:300]}"


def _describing(version: str, action_type: str) -> list[str]:
    """Return the definitions of an action; there are two where a field tells variants apart."""
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
    schema = {"$ref": f"#/$defs/{definition}", "$defs": _definitions(version)}
    return Draft202012Validator(schema)


@cache
def _definitions(version: str) -> Json:
    published = definitions(version)
    mended = {name: _mended(definition, published) for name, definition in published.items()}
    # States and actions are held against their own definitions, which makes better complaints.
    mended["Snapshot"]["properties"]["state"] = {"type": "object"}
    mended["StateAction"] = {"type": "object"}
    return {**mended, "SessionStatus": {"type": "integer", "minimum": 0}}


def _mended(schema: Any, known: Json) -> Any:
    if isinstance(schema, list):
        return [_mended(item, known) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if _dangles(schema, known):
        return {}
    mended = {key: _mended(value, known) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        _tighten(mended)
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


def _tighten(schema: Json) -> None:
    properties: Json = schema["properties"]
    for name in MISTYPED & properties.keys():
        properties[name] = {}
    schema["required"] = [name for name in schema.get("required", []) if name not in OMITTED]
    schema.setdefault("additionalProperties", False)
