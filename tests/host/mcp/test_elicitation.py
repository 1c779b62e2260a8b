"""What servers ask becomes questions that people can answer, and their answers results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.agents.inputs import Answers
from agenthost.agents.sanitize import checked_action
from agenthost.host.mcp.elicitation import UnaskableQuestion, request_of, result_of

Json = dict[str, Any]


def asked(**properties: Json) -> Json:
    return {"message": "Who?", "requestedSchema": {"type": "object", "properties": properties}}


def question(said: Json) -> Json:
    (found,) = request_of("it", asked(x=said))["questions"]
    return {key: value for key, value in found.items() if key not in ("id", "message", "required")}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"type": "string"}, {"kind": "text", "title": "x"}),
        (
            {"type": "string", "title": "T", "minLength": 1, "maxLength": 9, "format": "email",
             "default": "a@b"},
            {"kind": "text", "title": "T", "min": 1, "max": 9, "format": "email",
             "defaultValue": "a@b"},
        ),
        ({"type": "string", "format": "made-up"}, {"kind": "text", "title": "x"}),
        ({"type": "boolean", "default": False},
         {"kind": "boolean", "title": "x", "defaultValue": False}),
        ({"type": "integer", "minimum": 1, "maximum": 3},
         {"kind": "integer", "title": "x", "min": 1, "max": 3}),
        ({"type": "number", "minimum": 0.5, "default": True},
         {"kind": "number", "title": "x", "min": 0.5}),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
         {"kind": "single-select", "title": "x",
          "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]}),
        ({"oneOf": [{"const": "a", "title": "A"}]},
         {"kind": "single-select", "title": "x", "options": [{"id": "a", "label": "A"}]}),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 1},
         {"kind": "multi-select", "title": "x", "min": 1,
          "options": [{"id": "a", "label": "a"}]}),
    ],
)  # fmt: skip
def test_each_kind_of_schema_is_a_kind_of_question(said: Json, shown: Json) -> None:
    assert question(said) == shown


@pytest.mark.parametrize(
    "said",
    [
        {"type": "object"},
        {"type": "array"},
        {"type": "string", "enum": [1, 2]},
        {"type": "string", "enum": [str(n) for n in range(200)]},
        "no schema",
        {"type": "string", "default": "x" * 100_000},
        {"type": "string", "enum": ["x" * 100_000]},
    ],
)
def test_what_nobody_could_answer_is_not_asked(said: Any) -> None:
    with pytest.raises(UnaskableQuestion):
        request_of("it", asked(x=said))


@pytest.mark.parametrize("name", ["", "x" * 100_000])
def test_a_question_without_a_name_or_with_too_long_a_one_is_not_asked(name: str) -> None:
    with pytest.raises(UnaskableQuestion):
        request_of("it", asked(**{name: {"type": "string"}}))


def test_more_questions_than_anybody_reads_are_not_asked() -> None:
    with pytest.raises(UnaskableQuestion, match="more than"):
        request_of("it", asked(**{f"p{number}": {"type": "string"} for number in range(40)}))


def test_required_questions_are_and_others_are_not() -> None:
    params = asked(a={"type": "string"}, b={"type": "string"})
    params["requestedSchema"]["required"] = ["b"]
    questions = request_of("it", params)["questions"]
    assert [(each["id"], each["required"]) for each in questions] == [("a", False), ("b", True)]


def test_a_page_to_visit_is_shown_with_its_address() -> None:
    params = {"mode": "url", "message": "Pay", "url": "https://pay.example/1"}
    request = request_of("shop", params)
    assert request == {
        "message": "shop asks: Pay\n\nhttps://pay.example/1",
        "url": "https://pay.example/1",
    }
    assert result_of(params, Answers("accept", {})) == {"action": "accept"}
    for url in ("javascript:alert(1)", "file:///etc/passwd", 7):
        with pytest.raises(UnaskableQuestion):
            request_of("shop", {**params, "url": url})


def test_answers_become_a_result() -> None:
    params = asked(a={"type": "string"})
    assert result_of(params, Answers("accept", {"a": "x"})) == {
        "action": "accept",
        "content": {"a": "x"},
    }
    assert result_of(params, Answers("decline", {})) == {"action": "decline"}
    assert result_of(params, Answers("cancel", {})) == {"action": "cancel"}


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_WORDS = st.sampled_from(
    ["type", "enum", "enumNames", "oneOf", "items", "minLength", "minimum", "default", "title",
     "description", "format", "maxItems"]
)  # fmt: skip
_TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object"])
_SCHEMAS = st.dictionaries(_WORDS, _JSON | _TYPES, max_size=5)


@given(st.dictionaries(st.text(), _SCHEMAS | _JSON, max_size=3), _JSON, _JSON)
def test_whatever_a_server_asks_is_a_request_of_the_protocol_or_refused(
    properties: Json, required: Any, message: Any
) -> None:
    schema = {"properties": properties, "required": required}
    try:
        request = request_of("it", {"message": message, "requestedSchema": schema})
    except UnaskableQuestion:
        return
    action = {"type": "chat/inputRequested", "request": {"id": "r", **request}}
    # Numbers that no client could read are the only thing that is still put right.
    checked_action(action)
