"""Configuration: which values fit the schema dialect, and who may change which of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.host.channels.rule_context import RuleContext
from agenthost.host.channels.ruled_kind import check
from agenthost.host.channels.settings import check_complete, check_value, sanitize

Json = Any
CONTEXT = RuleContext("me")

FITTING: dict[str, list[Any]] = {
    "string": ["", "text"],
    "number": [0, -1, 2.5, 10**15],
    "boolean": [True, False],
    "array": [[], [1, "a", None]],
    "object": [{}, {"any": None}],
}


def setting(type: str = "string", **extra: Any) -> Json:
    return {"type": type, "title": "T", **extra}


def schema(*required: str, **properties: Json) -> Json:
    bag: Json = {"type": "object", "properties": properties}
    return {**bag, "required": list(required)} if required else bag


# Single values


@pytest.mark.parametrize("type", FITTING)
def test_a_value_is_of_its_settings_type(type: str) -> None:
    for other, values in FITTING.items():
        expected = None if other == type else f"s must be of type {type}"
        for value in values:
            assert check_value("s", setting(type), value) == expected
    assert check_value("s", setting(type), None) == f"s must be of type {type}"


def test_a_value_is_one_of_the_choices() -> None:
    colour = setting(enum=["red", "green"], enumLabels=["Red"])
    assert check_value("s", colour, "green") is None
    assert check_value("s", colour, "blue") == "s must be one of red, green"
    amount = setting("number", enum=[1, 2.5])
    assert check_value("s", amount, 2.5) is None
    assert check_value("s", amount, 3) == "s must be one of 1, 2.5"
    assert check_value("s", setting(enum=[]), "x") is not None


def test_dynamic_choices_are_only_suggestions() -> None:
    branch = setting(enum=["main"], enumDynamic=True)
    assert check_value("s", branch, "feature") is None
    assert check_value("s", branch, 1) == "s must be of type string"


def test_every_item_of_a_list_fits() -> None:
    names = setting("array", items=setting(enum=["a", "b"]))
    assert check_value("s", names, ["a", "b", "a"]) is None
    assert check_value("s", names, ["a", 1]) == "s[1] must be of type string"
    assert check_value("s", names, ["x"]) == "s[0] must be one of a, b"
    grid = setting("array", items=setting("array", items=setting("number")))
    assert check_value("s", grid, [[1], [2, "x"]]) == "s[1][1] must be of type number"


def test_a_list_has_as_many_items_as_it_may() -> None:
    some = setting("array", minItems=1, maxItems=2, items=setting())
    assert check_value("s", some, ["a", "b"]) is None
    assert check_value("s", some, []) == "s must have at least 1 item"
    assert check_value("s", some, ["a", "b", "c"]) == "s must have at most 2 items"
    none = setting("array", maxItems=0)
    assert check_value("s", none, []) is None
    assert check_value("s", none, [1]) == "s must have at most 0 items"


def test_every_known_member_of_an_object_fits() -> None:
    place = setting("object", properties={"host": setting(), "port": setting("number")})
    assert check_value("s", place, {"host": "h", "port": 1}) is None
    assert check_value("s", place, {}) is None
    assert check_value("s", place, {"host": "h", "more": 1}) is None
    assert check_value("s", place, {"port": "1"}) == "s.port must be of type number"


def test_a_required_member_of_an_object_is_there() -> None:
    place = setting("object", properties={"host": setting()}, required=["host"])
    assert check_value("s", place, {"host": ""}) is None
    assert check_value("s", place, {}) == "s.host is required"
    nested = setting("array", items=place)
    assert check_value("s", nested, [{"host": "h"}, {}]) == "s[1].host is required"


def test_further_members_of_an_object_fit_the_schema_for_them() -> None:
    environment = setting(
        "object", properties={"PORT": setting("number")}, additionalProperties=setting()
    )
    assert check_value("s", environment, {"PORT": 1, "HOME": "/"}) is None
    assert check_value("s", environment, {"HOME": 1}) == "s.HOME must be of type string"


# Whole bags


def test_a_complete_bag_has_known_fitting_values_and_all_that_is_required() -> None:
    bag = schema("mode", mode=setting(), size=setting("number"))
    assert check_complete(bag, {"mode": "a", "size": 1}) is None
    assert check_complete(bag, {"mode": "a"}) is None
    assert check_complete(bag, {"size": 1}) == "mode is required"
    assert check_complete(bag, {"mode": "a", "x": 1}) == "there is no setting x"
    assert check_complete(bag, {"mode": 1}) == "mode must be of type string"
    assert check_complete(schema(), {}) is None


def test_an_answer_to_a_form_keeps_what_fits_and_fills_in_the_rest() -> None:
    bag = schema(
        mode=setting(default="ask", enum=["ask", "auto"]),
        size=setting("number"),
        flag=setting("boolean", default=False),
    )
    assert sanitize(bag, {}) == {"mode": "ask", "flag": False}
    assert sanitize(bag, {"mode": "auto", "size": 2}) == {"mode": "auto", "size": 2, "flag": False}
    assert sanitize(bag, {"mode": "x", "size": "2", "more": 1}) == {"mode": "ask", "flag": False}


def test_a_form_cannot_set_what_is_only_shown() -> None:
    bag = schema(host=setting(default="here", readOnly=True), user=setting(readOnly=True))
    assert sanitize(bag, {"host": "there", "user": "me"}) == {"host": "here"}


values = st.one_of(
    st.text(max_size=3), st.integers(-3, 3), st.booleans(), st.none(), st.lists(st.integers())
)
properties = st.dictionaries(
    st.sampled_from("abcd"),
    st.sampled_from(
        [
            setting(),
            setting(default="x"),
            setting("number", default=1, enum=[1, 2]),
            setting("boolean"),
            setting("array", items=setting("number")),
        ]
    ),
)


@given(properties, st.dictionaries(st.sampled_from("abcde"), values))
def test_what_a_form_answers_is_always_acceptable_and_stable(settings: Json, filled: Json) -> None:
    bag = schema(**settings)
    answer = sanitize(bag, filled)
    assert check_complete(bag, answer) is None
    assert sanitize(bag, answer) == answer
    assert {key for key, inner in settings.items() if "default" in inner} <= answer.keys()


# What clients change


def configured(values: Json, *required: str, **properties: Json) -> Json:
    return {"config": {"schema": schema(*required, **properties), "values": values}}


def refusal(kind: str, state: Json, config: Json, **extra: Any) -> str | None:
    return check(state, {"type": f"{kind}/configChanged", "config": config, **extra}, CONTEXT)


MUTABLE = setting(sessionMutable=True)
KINDS = pytest.mark.parametrize("kind", ["root", "session"])


@KINDS
def test_where_there_is_no_configuration_nothing_can_be_changed(kind: str) -> None:
    assert refusal(kind, {}, {"mode": "a"}) == "there is nothing to configure here"


@KINDS
def test_a_setting_takes_a_value_that_fits(kind: str) -> None:
    state = configured({}, mode={**MUTABLE, "enum": ["a", "b"]})
    assert refusal(kind, state, {"mode": "a"}) is None
    assert refusal(kind, state, {}) is None
    assert refusal(kind, state, {"mode": "x"}) == "mode must be one of a, b"
    assert refusal(kind, state, {"mode": 1}) == "mode must be of type string"
    assert refusal(kind, state, {"mode": None}) == "mode must be of type string"
    unknown = refusal(kind, state, {"mode": "a", "x": 1})
    assert unknown == (None if kind == "root" else "there is no setting x")


@KINDS
def test_what_is_only_shown_cannot_be_changed(kind: str) -> None:
    state = configured({"mode": "a"}, mode={**MUTABLE, "readOnly": True})
    assert refusal(kind, state, {"mode": "b"}) == "mode cannot be changed"
    assert refusal(kind, state, {"mode": "a"}) is None


def test_a_session_freezes_what_is_not_mutable_and_the_host_does_not() -> None:
    state = configured({"mode": "a"}, mode=setting(), free=MUTABLE)
    assert refusal("session", state, {"mode": "b"}) == "mode cannot be changed"
    assert refusal("session", state, {"mode": "a", "free": "x"}) is None
    assert refusal("root", state, {"mode": "b"}) is None
    explicit = configured({}, mode=setting(sessionMutable=False))
    assert refusal("session", explicit, {"mode": "b"}) == "mode cannot be changed"


@KINDS
def test_a_whole_new_bag_may_drop_what_may_be_changed(kind: str) -> None:
    state = configured({"mode": "a", "free": "b"}, mode=MUTABLE, free=MUTABLE)
    assert refusal(kind, state, {"mode": "x"}, replace=True) is None
    assert refusal(kind, state, {}, replace=True) is None


@KINDS
def test_a_whole_new_bag_keeps_what_may_not_be_changed(kind: str) -> None:
    state = configured({"mode": "a", "free": "b"}, mode=setting(readOnly=True), free=MUTABLE)
    assert refusal(kind, state, {"mode": "a"}, replace=True) is None
    assert refusal(kind, state, {"free": "x"}, replace=True) == "mode cannot be removed"
    assert refusal(kind, state, {"mode": "x"}, replace=True) == "mode cannot be changed"
    # Merging leaves it alone.
    assert refusal(kind, state, {"free": "x"}, replace=False) is None


@KINDS
def test_a_whole_new_bag_has_what_is_required(kind: str) -> None:
    state = configured({"mode": "a"}, "mode", mode=MUTABLE, free=MUTABLE)
    assert refusal(kind, state, {"free": "x"}, replace=True) == "mode is required"
    assert refusal(kind, state, {"mode": "b"}, replace=True) is None
    assert refusal(kind, state, {"free": "x"}) is None


@KINDS
def test_a_number_does_not_pass_for_the_boolean_it_equals(kind: str) -> None:
    state = configured(
        {"flag": True, "count": 1},
        flag=setting("boolean", sessionMutable=True),
        count=setting("number", sessionMutable=True),
    )
    assert refusal(kind, state, {"flag": 1}) == "flag must be of type boolean"
    assert refusal(kind, state, {"count": True}) == "count must be of type number"


def test_sending_back_what_is_there_is_no_change_even_where_it_would_not_fit() -> None:
    state = configured({"branch": None}, branch=setting())
    assert refusal("session", state, {"branch": None}) is None
