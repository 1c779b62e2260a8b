"""Copy-on-write edits of JSON values, shared by every reducer.

Owns the two rules that reducers lean on: an *absent* member and a ``null`` one differ, and an edit
that changes nothing gives back *the same object*. Nothing here mutates what it is given; results
share every part that did not change. Knows no channel and no action; the reducers do.

The types say that an edit keeps the shape of what it edits. That is the caller's promise: the casts
that it takes live here, so that reducers need none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")


def same(one: object, other: object) -> bool:
    """Say whether two JSON values are equal; unlike ``==`` it tells ``true`` from ``1``."""
    if one is other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def same_if_equal(before: T, after: T) -> T:
    """Return ``before`` if ``after`` equals it, so that callers may test with ``is``."""
    return before if same(before, after) else after


def updated(state: T, /, **members: Any) -> T:
    """Return ``state`` with those members set; the same object when it has them all already."""
    return same_if_equal(state, cast(T, {**cast(Mapping[str, Any], state), **members}))


def without(state: T, *keys: str) -> T:
    """Return ``state`` lacking those members."""
    members: Any = state
    if not any(key in members for key in keys):
        return state
    rest: Any = {key: value for key, value in members.items() if key not in keys}
    return rest  # type: ignore[no-any-return]


def carry(source: object, *keys: str) -> dict[str, Any]:
    """Return those members that ``source`` has; absent stays absent and null stays null."""
    members = cast(Mapping[str, Any], source)
    return {key: members[key] for key in keys if key in members}


def carry_given(source: object, *keys: str) -> dict[str, Any]:
    """Return those members that ``source`` has and that are not null."""
    return {key: value for key, value in carry(source, *keys).items() if value is not None}


def prefer(first: object, second: object, *keys: str) -> dict[str, Any]:
    """Return those members as ``first`` gives them, else (absent or null) as ``second`` has them.

    Only absence and null fall back: ``""``, ``0``, ``false``, ``[]`` and ``{}`` are values.
    """
    return {**carry(second, *keys), **carry_given(first, *keys)}


def copied_members(state: T, source: object, *keys: str) -> T:
    """Return ``state`` with those members copied from ``source``; missing ones are removed."""
    given = carry(source, *keys)
    missing = [key for key in keys if key not in given]
    return updated(without(state, *missing), **given)


def replaced_list(state: T, key: str, items: Sequence[object] | None) -> T:
    """Return ``state`` with a whole list under ``key``; without any the member is removed."""
    return without(state, key) if items is None else updated(state, **{key: items})


def with_item(state: T, key: str, item: object) -> T:
    """Return ``state`` with the item in the list under ``key``; the same object if it is there."""
    members = cast(Mapping[str, Any], state)
    items = members.get(key) or []
    return state if item in items else cast(T, {**members, key: [*items, item]})


def without_item(state: T, key: str, item: object) -> T:
    """Return ``state`` without the item in the list under ``key``; an emptied list stays."""
    members = cast(Mapping[str, Any], state)
    items = list(members.get(key) or [])
    if item not in items:
        return state
    items.remove(item)
    return cast(T, {**members, key: items})


def index_by(items: Sequence[object] | None, key: str, value: object) -> int | None:
    """Return where the first item lies whose ``key`` equals ``value``; an absent list has none."""
    for index, item in enumerate(items or ()):
        members = cast(Mapping[str, Any], item)
        if key in members and members[key] == value:
            return index
    return None


def replace_at(items: Sequence[T], index: int, item: T) -> list[T]:
    """Return the items with the one at ``index`` replaced."""
    replaced = list(items)
    replaced[index] = item
    return replaced


def upsert_by(items: Sequence[T] | None, key: str, item: T) -> list[T]:
    """Return the items with ``item`` in place of the first of equal ``key``, or else appended."""
    index = index_by(items, key, cast(Mapping[str, Any], item)[key])
    return [*(items or ()), item] if index is None else replace_at(items or (), index, item)


def remove_by(items: Sequence[T] | None, key: str, value: object) -> list[T] | None:
    """Return the items without the first whose ``key`` equals ``value``; None if there is none."""
    index = index_by(items, key, value)
    return None if index is None or items is None else [*items[:index], *items[index + 1 :]]
