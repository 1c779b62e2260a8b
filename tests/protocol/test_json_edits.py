"""The structural edits that reducers are made of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.protocol.json_edits import (
    carry,
    carry_given,
    copied_members,
    index_by,
    prefer,
    remove_by,
    replace_at,
    same,
    same_if_equal,
    updated,
    upsert_by,
    without,
)
from tests.protocol.samples import frozen

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(JSON, JSON)
def test_two_values_are_the_same_exactly_when_they_are_spelled_alike(one: Any, other: Any) -> None:
    assert same(one, other) is (_spelled(one) == _spelled(other))


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return "object", {key: _spelled(member) for key, member in value.items()}
    if isinstance(value, list):
        return "array", [_spelled(item) for item in value]
    return type(value).__name__, value


@pytest.mark.parametrize(("one", "other"), [(True, 1), (False, 0), (None, 0), ([], {}), ("", None)])
def test_values_of_different_types_differ_at_every_depth(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same({"a": [one]}, {"a": [other]})


def test_a_number_is_the_same_however_it_is_spelled() -> None:
    assert same({"a": 1}, {"a": 1.0})


def test_an_edit_that_changes_nothing_gives_back_the_same_object() -> None:
    state = frozen({"a": 1, "b": [1, {"c": None}]})
    assert same_if_equal(state, {"a": 1, "b": [1, {"c": None}]}) is state
    assert updated(state, a=1, b=[1, {"c": None}]) is state
    assert without(state, "x", "y") is state
    assert copied_members(state, {"a": 1}, "a", "x") is state


def test_an_edit_leaves_its_input_alone_and_shares_the_rest() -> None:
    state = frozen({"a": 1, "b": [1], "state": 2})
    assert updated(state, a=None, state=3) == {"a": None, "b": [1], "state": 3}
    assert updated(state, a=2)["b"] is state["b"]
    assert without(state, "a", "x", "state") == {"b": [1]}


def test_mirroring_takes_over_what_is_there_and_what_is_not() -> None:
    state = frozen({"a": 1, "b": 2, "c": 3})
    assert copied_members(state, {"a": None, "d": 4}, "a", "b", "d") == {"a": None, "c": 3, "d": 4}


def test_absent_stays_absent_and_null_stays_null_when_carried() -> None:
    source = frozen({"a": None, "b": 0, "c": []})
    assert carry(source, "a", "b", "x") == {"a": None, "b": 0}
    assert carry_given(source, "a", "b", "c", "x") == {"b": 0, "c": []}


def test_only_absence_and_null_fall_back() -> None:
    old = {"a": 1, "b": 2, "c": None, "d": 4}
    new = {"a": "", "b": None, "e": None}
    assert prefer(new, old, "a", "b", "c", "d", "e") == {"a": "", "b": 2, "c": None, "d": 4}


def test_the_first_of_equal_items_counts() -> None:
    items = frozen([{"x": 0}, {"id": "a", "n": 1}, {"id": "a", "n": 2}])
    assert index_by(items, "id", "a") == 1
    assert upsert_by(items, "id", {"id": "a"}) == [{"x": 0}, {"id": "a"}, {"id": "a", "n": 2}]
    assert remove_by(items, "id", "a") == [{"x": 0}, {"id": "a", "n": 2}]
    assert replace_at(items, 0, {}) == [{}, *items[1:]]


def test_an_item_that_is_not_there_is_appended_or_not_removed() -> None:
    assert upsert_by(None, "id", {"id": "a"}) == [{"id": "a"}]
    assert upsert_by([{"id": "b"}], "id", {"id": "a"}) == [{"id": "b"}, {"id": "a"}]
    assert remove_by(None, "id", "a") is None
    assert remove_by([{"id": "b"}], "id", "a") is None


def test_an_item_without_the_key_is_not_one_whose_key_is_null() -> None:
    assert index_by([{}, {"id": None}], "id", None) == 1
