"""The wire types say what the published schemas say, definition by definition."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any, Literal, get_args, get_origin

import pytest
from typing_extensions import is_typeddict

from agenthost.protocol.schema.lists import UniqueBy
from agenthost.protocol.schema.scalars import (
    CatalogueSpelling,
    Finite,
    OpenWord,
    Primitive,
    RootSpelling,
    Unchecked,
    Whole,
)
from agenthost.protocol.schema.unions import checker, fields_of, members_of, tags_of
from agenthost.protocol.wire_types import WIRE_TYPES
from tests.conformance import corpus
from tests.protocol.wire_samples import full, minimal, plain, variants

SCHEMAS = corpus.SHARED / "schema" / "1.0.0"
NAMES = ("state", "actions", "commands", "notifications", "errors")

# Published, but no type of ours: error codes are exception classes here.
ELSEWHERE = {"AhpErrorCode", "AhpErrorDetailsMap", "JsonRpcErrorCode"}

# Where we mean something else than the schemas print: a bitset published as a closed list, and
# params of which the method tells which they are.
NOT_AS_PRINTED = {"SessionStatus", "ProtocolNotification"}


@cache
def definitions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in NAMES:
        path = SCHEMAS / f"{name}.schema.json"
        if path.is_file():
            found.update(json.loads(path.read_text("utf-8"))["$defs"])
    return found


PUBLISHED = sorted(definitions().keys() - ELSEWHERE)


def ours(name: str) -> Any:
    return WIRE_TYPES[name]


def referenced(schema: dict[str, Any]) -> str | None:
    """Return the name a schema refers to, if that is all it does."""
    reference = schema.get("$ref")
    return reference.rsplit("/", 1)[-1] if reference else None


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    name = referenced(schema)
    return resolved(definitions()[name]) if name else schema


def allowed(schema: dict[str, Any]) -> set[Any]:
    """Return the constants that a schema allows; none when it is no choice of constants."""
    schema = resolved(schema)
    if "const" in schema:
        return {schema["const"]}
    if "oneOf" in schema:
        return set().union(*(allowed(part) for part in schema["oneOf"]))
    return set(schema.get("enum", ()))


def words(wire_type: Any) -> set[Any]:
    """Return the constants of a type, whether others are let pass or not."""
    return set(get_args(word_type(wire_type)))


def word_type(wire_type: Any) -> Any:
    rule = getattr(wire_type, "__metadata__", (None,))[0]
    return get_args(wire_type)[0] if isinstance(rule, OpenWord) else wire_type


def assert_agree(schema: dict[str, Any], wire_type: Any, where: str) -> None:
    """Compare the JSON types of one field, as deep as its own schema goes."""
    if where.endswith(".approved") and get_origin(wire_type) is Literal:
        # Published without a type; the two kinds of confirmation differ in it.
        assert "type" not in schema
        return
    name = referenced(schema)
    if name is not None and not allowed(schema):
        bare = definitions()[name]
        if bare.get("type") == "object" or "oneOf" in bare or name == "SessionOrigin":
            assert wire_type == ours(name), where
            return
    schema, rule = resolved(schema), getattr(wire_type, "__metadata__", (None,))[0]
    if isinstance(rule, RootSpelling):
        assert allowed(schema) == {"ahp-root://"}, where
    elif isinstance(rule, CatalogueSpelling):
        assert allowed(schema) == {"ahp-automations://"}, where
    elif name == "SessionStatus":
        assert isinstance(rule, Whole), where
    elif allowed(schema):
        assert words(wire_type) == allowed(schema), where
    elif schema.get("type") == "array":
        assert ("allOf" in schema) == isinstance(rule, UniqueBy), where
        if not isinstance(rule, Unchecked):
            wire_type = plain(wire_type)
            assert get_origin(wire_type) is list, where
            assert_agree(schema["items"], get_args(wire_type)[0], f"{where}[]")
    elif schema.get("type") == "object":
        assert_object(schema, wire_type, where)
    elif schema.get("type") == "integer":
        assert rule == Whole(schema["minimum"]), where
    elif schema.get("type") == "number":
        assert isinstance(rule, Whole | Finite), where
    elif schema.get("type") == "boolean":
        assert wire_type is bool, where
    elif schema.get("type") == "string":
        assert wire_type is str or get_args(wire_type)[0] is str, where
    elif "oneOf" in schema:
        assert members_of(wire_type), where
    else:
        assert wire_type is Any, where


def assert_object(schema: dict[str, Any], wire_type: Any, where: str) -> None:
    """Compare fields, their requiredness and their types; an object without any is a map."""
    if get_origin(wire_type) is dict:
        assert not schema.get("properties"), where
        values = schema.get("additionalProperties")
        if values:
            assert_agree(values, get_args(wire_type)[1], f"{where}{{}}")
        else:
            assert get_args(wire_type)[1] is Any, where
        return
    assert is_typeddict(wire_type), where
    required = set(schema.get("required", ()))
    assert wire_type.__required_keys__ == required, where
    assert wire_type.__optional_keys__ == schema.get("properties", {}).keys() - required, where
    for key, field in schema.get("properties", {}).items():
        assert_agree(field, fields_of(wire_type)[key], f"{where}.{key}")


@pytest.mark.parametrize("name", corpus.parameters(PUBLISHED, PUBLISHED))
def test_a_published_definition_has_the_same_type_here(name: str) -> None:
    schema, wire_type = definitions()[name], ours(name)
    if name in NOT_AS_PRINTED:
        return
    if name == "SessionOrigin":
        # A union with one member so far, and printed as that member.
        schema = {"oneOf": [schema]}
    if schema.get("type") == "object":
        assert_object(schema, wire_type, name)
    elif allowed(schema):
        assert words(wire_type) == allowed(schema)
    elif "oneOf" in schema and all(referenced(part) is not None for part in schema["oneOf"]):
        members = [referenced(part) for part in schema["oneOf"]]
        # One published union begins with a reference to nothing.
        published = [ours(member) for member in members if member]
        if name == "StateAction":
            key = "type"
            assert set(tags_of(wire_type, key)) == {
                tag for member in published for tag in tags_of(member, key)
            }
        else:
            assert set(members_of(wire_type)) == set(published)
    elif name == "JsonPrimitive":
        assert isinstance(wire_type.__metadata__[0], Primitive)
    elif "oneOf" in schema:
        for part, member in zip(schema["oneOf"], members_of(wire_type), strict=True):
            assert_agree(part, member, name)
    else:
        assert_agree(schema, wire_type, name)


def test_every_published_definition_is_compared_or_accounted_for() -> None:
    if not definitions():
        pytest.skip(f"no schemas at {SCHEMAS}; set AGENTHOST_SHARED")
    assert len(definitions()) > 300
    assert all(name in WIRE_TYPES for name in PUBLISHED)


def test_no_helper_slips_in_among_the_types_of_the_protocol() -> None:
    assert len(WIRE_TYPES) == 511


OBJECTS = sorted(name for name, wire_type in WIRE_TYPES.items() if is_typeddict(wire_type))


@pytest.mark.parametrize("name", OBJECTS)
def test_every_type_has_a_validator_a_sentence_and_takes_its_own_samples(name: str) -> None:
    wire_type = WIRE_TYPES[name]
    assert wire_type.__doc__
    assert wire_type.__doc__.split("\n")[0].endswith(".")
    for value in (minimal(wire_type), full(wire_type), *variants(wire_type)[:20]):
        checker(wire_type).validate_python(value, strict=True)


@pytest.mark.parametrize("name", sorted(WIRE_TYPES))
def test_every_name_stands_for_a_type_that_can_be_checked(name: str) -> None:
    assert checker(WIRE_TYPES[name]) is checker(WIRE_TYPES[name])


# Imports the protocol layer without the rest of the package, which may need the library at once.
LAYER_ALONE = """
import sys, types
package = types.ModuleType("agenthost")
package.__path__ = [sys.argv[1]]
sys.modules["agenthost"] = package
import agenthost.protocol.schema.validation
print("pydantic" in sys.modules or "pydantic_core" in sys.modules)
"""


def test_importing_the_protocol_does_not_import_the_validation_library() -> None:
    package = str(corpus.REPOSITORY / "agenthost")
    command = [sys.executable, "-c", LAYER_ALONE, package]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
