"""Normalizes peers' JSON: null for an absent optional field, and 3.0 for 3.

Both are undone in a copy, along the wire type; parts that need nothing are shared. Some serializers
write null where they have nothing, and some have only floating-point numbers. Whether null may be
taken for absence at all is for ``validation`` to say: in a client's action absence is itself a
command, so there it may not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import is_
from typing import Any, TypeAlias

from agenthost.protocol.schema.scalars import Whole
from agenthost.protocol.schema.type_walk import Fields, Items, Members, Scalar, Variants, shape_of
from agenthost.protocol.schema.unions import Chooser

_Edit: TypeAlias = Callable[[Any], Any]

# Stands for a member that is to be dropped.
_GONE = object()


def normalized(value: Any, wire_type: Any, *, nulls: bool) -> Any:
    """Return the value with whole floats made integers and, if so told, optional nulls dropped.

    The same object comes back when there was nothing to do. Raises ``RecursionError`` for a
    value nested more deeply than any honest one.
    """
    edit = _editor(wire_type, nulls)
    return value if edit is None else edit(value)


@cache
def _editor(wire_type: Any, nulls: bool) -> _Edit | None:
    """Return what normalizes values of a type, or None where there is never anything to do."""
    match shape_of(wire_type):
        case Fields() as fields:
            return _object_editor(fields, nulls)
        case Items(item_type):
            edit_item = _editor(item_type, nulls)
            return None if edit_item is None else _list_editor(edit_item)
        case Members(member_type):
            edit_member = _editor(member_type, nulls)
            return None if edit_member is None else _map_editor(lambda _, value: edit_member(value))
        case Variants(_, choose):
            return _variant_editor(choose, nulls)
        case Scalar(Whole()):
            return _whole
    return None


def _object_editor(fields: Fields, nulls: bool) -> _Edit:
    types = fields.types
    # Null is data where anything is.
    optional = {key for key in fields.optional if nulls and types[key] is not Any}

    def member(key: str, value: Any) -> Any:
        if value is None and key in optional:
            return _GONE
        # Looked up here and not beforehand, because a type may contain itself.
        edit = _editor(types[key], nulls) if key in types else None
        return value if edit is None else edit(value)

    return _map_editor(member)


def _variant_editor(choose: Chooser, nulls: bool) -> _Edit:
    def edit(value: Any) -> Any:
        try:
            member = choose(value)
        except ValueError:
            # It belongs to no member; the check that follows will say so.
            return value
        return value if member is None else normalized(value, member, nulls=nulls)

    return edit


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _list_editor(edit: _Edit) -> _Edit:
    def edit_list(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        edited = [edit(item) for item in value]
        return value if all(map(is_, edited, value)) else edited

    return edit_list


def _map_editor(edit: Callable[[str, Any], Any]) -> _Edit:
    def edit_map(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        edited = {key: edit(key, member) for key, member in value.items()}
        if all(map(is_, edited.values(), value.values())):
            return value
        return {key: member for key, member in edited.items() if member is not _GONE}

    return edit_map
