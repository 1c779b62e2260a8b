"""Schemas of other people's tools: no schema keeps a model from answering."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

from agenthost.agents.llm.tool_schemas import ANY_ARGUMENTS, usable_schema

Json = dict[str, Any]


def nested(levels: int) -> Json:
    schema: Json = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"in": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"q": {"type": ["string", "null"], "enum": ["a", None]}}},
        {"type": "object", "properties": {"q": True}, "additionalProperties": False},
        {"type": "object", "$defs": {"A": {}}, "properties": {"q": {"$ref": "#/$defs/A"}}},
        {"type": "object", "properties": {"q": {"$ref": "#"}}, "required": ["q"]},
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "properties": {"q": {"items": {"type": "string"}}}},
        nested(20),
    ],
)
def test_a_schema_is_passed_on_as_it_is(schema: Json) -> None:
    assert usable_schema(schema) == schema


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        {},
        {"type": "array"},
        {"type": "object", "properties": [1]},
        {"type": "object", "properties": {"a": 5}},
        {"type": "object", "properties": {"a": {"type": 7}}},
        {"type": "object", "properties": {"a": {"enum": 5}}},
        {"type": "object", "required": 7},
        {"type": "object", "anyOf": 5},
        {"type": "object", "anyOf": ["x"]},
        {"type": "object", "$defs": [1]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://a.example/s.json"}}},
        {"type": "object", "description": "x" * 40_000},
        {"type": "object", "properties": {f"p{n}": {} for n in range(3000)}},
        nested(200),
    ],
)
def test_one_that_no_model_takes_becomes_one_for_anything(schema: object) -> None:
    assert usable_schema(schema) == ANY_ARGUMENTS


words = st.sampled_from(
    ["type", "object", "properties", "anyOf", "items", "$ref", "#", "#/$defs/A", "$defs", "enum",
     "required", "additionalProperties", "allOf", "prefixItems", "const", "A"]
)  # fmt: skip
schemas = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(words, schemas, max_size=5))
def test_whatever_a_server_says_can_be_told_a_model(schema: Json) -> None:
    told = usable_schema({**schema, "type": "object"})
    assert told["type"] == "object"
    OpenAIJsonSchemaTransformer(told, strict=False).walk()
