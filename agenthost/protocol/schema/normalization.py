"""What we forgive a peer: null for an absent optional field, and 3.0 for 3.

Owns the one walk along a wire type that undoes both in a copy; parts that need nothing are shared.
Some serializers write null where they have nothing, and some have only floating-point numbers.
Whether null may be forgiven at all is for ``validation`` to say: in a client's action absence is
itself a command, so there it may not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import is_
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from typing_extensions import is_typeddict

from agenthost.protocol.schema.scalars import Whole
from agenthost.protocol.schema.unions import UnionRule, fields_of

_Edit: TypeAlias = Callable[[Any], Any]

# Stands for a member that is to be dropped.
_GONE = object()


def forgiven(value: Any, wire_type: Any, *, nulls: bool) -> Any:
    """Return the value with whole floats made integers and, if so told, optional nulls dropped.

    The same object comes back when there was nothing to forgive. Raises ``RecursionError`` for a
    value nested more deeply than any honest one.
    """
    edit = _editor(wire_type, nulls)
    return value if edit is None else edit(value)


@cache
def _editor(wire_type: Any, nulls: bool) -> _Edit | None:
    """Return what forgives values of a type, or None where there is never anything to forgive."""
    if is_typeddict(wire_type):
        return _object_editor(wire_type, nulls)
    origin, arguments = get_origin(wire_type), get_args(wire_type)
    if origin is Annotated:
        return _rule_editor(arguments[0], arguments[1], nulls)
    if origin is not list and origin is not dict:
        return None
    edit = _editor(arguments[-1], nulls)
    if edit is None:
        return None
    return _list_editor(edit) if origin is list else _map_editor(lambda key, member: edit(member))


def _object_editor(wire_type: Any, nulls: bool) -> _Edit:
    fields = fields_of(wire_type)
    # Null is data where anything is.
    optional = {key for key in wire_type.__optional_keys__ if nulls and fields[key] is not Any}

    def member(key: str, value: Any) -> Any:
        if value is None and key in optional:
            return _GONE
        # Looked up here and not beforehand, because a type may contain itself.
        edit = _editor(fields[key], nulls) if key in fields else None
        return value if edit is None else edit(value)

    return _map_editor(member)


def _rule_editor(inner: Any, rule: Any, nulls: bool) -> _Edit | None:
    if isinstance(rule, Whole):
        return _whole
    if not isinstance(rule, UnionRule):
        return None
    choose = rule.chooser(inner)

    def edit(value: Any) -> Any:
        try:
            member = choose(value)
        except ValueError:
            # It belongs to no member; the check that follows will say so.
            return value
        return value if member is None else forgiven(value, member, nulls=nulls)

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
