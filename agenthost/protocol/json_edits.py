"""Copy-on-write edits of JSON values, shared by every reducer.

Owns the two rules that reducers lean on: an *absent* member and a ``null`` one differ, and an edit
that changes nothing gives back *the same object*. Nothing here mutates what it is given; results
share every part that did not change. Knows no channel and no action; the reducers do.

The types say that an edit keeps the shape of what it edits. That is the caller's promise: the casts
that it takes live here, so that reducers need none. They are annotations, because a call of
``cast`` for each edit would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def same(one: object, other: object) -> bool:
    """Say whether two JSON values are equal; unlike ``==`` it tells ``true`` from ``1``."""
    # Most often they differ, which ``==`` finds out sooner.
    return one is other or (one == other and _same_types(one, other))


def _same_types(one: object, other: object) -> bool:
    """Say whether two equal values have their booleans in the same places."""
    if one is other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_same_types(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return all(map(_same_types, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def same_if_equal(before: T, after: T) -> T:
    """Return ``before`` if ``after`` equals it, so that callers may test with ``is``."""
    return before if same(before, after) else after


def updated(state: T, /, **members: Any) -> T:
    """Return ``state`` with those members set; the same object when it has them all already."""
    before: Any = state
    after: Any = {**before, **members}
    return same_if_equal(before, after)  # type: ignore[no-any-return]


def without(state: T, *keys: str) -> T:
    """Return ``state`` lacking those members."""
    members: Any = state
    for key in keys:
        if key in members:
            break
    else:
        return state
    rest = members.copy()
    for key in keys:
        rest.pop(key, None)
    return rest  # type: ignore[no-any-return]


def carry(source: object, *keys: str) -> dict[str, Any]:
    """Return those members that ``source`` has; absent stays absent and null stays null."""
    members: Any = source
    carried = {}
    for key in keys:
        if key in members:
            carried[key] = members[key]
    return carried


def carry_given(source: object, *keys: str) -> dict[str, Any]:
    """Return those members that ``source`` has and that are not null."""
    members: Any = source
    carried = {}
    for key in keys:
        value = members.get(key)
        if value is not None:
            carried[key] = value
    return carried


def prefer(first: object, second: object, *keys: str) -> dict[str, Any]:
    """Return those members as ``first`` gives them, else (absent or null) as ``second`` has them.

    Only absence and null fall back: ``""``, ``0``, ``false``, ``[]`` and ``{}`` are values.
    """
    ours: Any = first
    theirs: Any = second
    preferred = {}
    for key in keys:
        value = ours.get(key)
        if value is not None:
            preferred[key] = value
        elif key in theirs:
            preferred[key] = theirs[key]
    return preferred


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
    members: Any = state
    items = members.get(key) or []
    return state if item in items else _with(state, key, [*items, item])


def without_item(state: T, key: str, item: object) -> T:
    """Return ``state`` without the item in the list under ``key``; an emptied list stays."""
    members: Any = state
    items = list(members.get(key) or [])
    if item not in items:
        return state
    items.remove(item)
    return _with(state, key, items)


def index_by(items: Sequence[object] | None, key: str, value: object) -> int | None:
    """Return where the first item lies whose ``key`` equals ``value``; an absent list has none."""
    members: Any
    for index, members in enumerate(items or ()):
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
    members: Any = item
    index = index_by(items, key, members[key])
    return [*(items or ()), item] if index is None else replace_at(items or (), index, item)


def remove_by(items: Sequence[T] | None, key: str, value: object) -> list[T] | None:
    """Return the items without the first whose ``key`` equals ``value``; None if there is none."""
    index = index_by(items, key, value)
    return None if index is None or items is None else [*items[:index], *items[index + 1 :]]


def _with(state: T, key: str, value: object) -> T:
    members: Any = state
    changed: Any = {**members, key: value}
    return changed  # type: ignore[no-any-return]
