"""Edits of wire data for translations: tolerant of any shape, sharing whatever did not change.

What a peer sent is translated before it is validated, so nothing here may trip over a value of the
wrong type: such a value is given back as it is, for the validation to refuse. Knows no node of the
protocol; ``walks`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def each(items: Any, edit: Callable[[Json], Json | None]) -> Any:
    """Return the list with its objects edited, and without those that became None."""
    if not isinstance(items, list):
        return items
    edited = [edit(item) if isinstance(item, dict) else item for item in items]
    if all(new is old for new, old in zip(edited, items, strict=True)):
        return items
    return [new for new, old in zip(edited, items, strict=True) if new is not None or old is None]


def inside(node: Json, key: str, edit: Callable[[Any], Any]) -> Json:
    """Return the node with one member edited; a member that becomes None is left out."""
    value = node.get(key)
    if value is None:
        return node
    edited = edit(value)
    if edited is value:
        return node
    return without(node, key) if edited is None else {**node, key: edited}


def put(node: Json, key: str, value: Any) -> Json:
    """Return the node with a member set, or left out when the value is None."""
    return without(node, key) if value is None else {**node, key: value}


def without(node: Json, *keys: str) -> Json:
    """Return the node lacking those members."""
    if not any(key in node for key in keys):
        return node
    return {key: value for key, value in node.items() if key not in keys}
