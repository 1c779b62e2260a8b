"""What a wire type is made of: the fields of an object, the items of a list, a union's members.

The one place that takes apart how the wire types are written (TypedDict, ``Annotated``, ``list``,
``dict``) for those who walk along a value and its type, such as ``normalization``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from msgspec import Struct
from typing_extensions import is_typeddict

from agenthost.protocol.schema.lists import UniqueBy
from agenthost.protocol.schema.scalars import Rule
from agenthost.protocol.schema.unions import Chooser, UnionRule, fields_of


class Fields(Struct, frozen=True):
    """An object with named fields."""

    types: Mapping[str, Any]
    optional: frozenset[str]


class Items(Struct, frozen=True):
    """A list of values of one type."""

    type: Any


class Members(Struct, frozen=True):
    """An object with any keys and values of one type."""

    type: Any


class Variants(Struct, frozen=True):
    """One of several types; ``choose`` says which."""

    rule: UnionRule
    choose: Chooser


class Scalar(Struct, frozen=True):
    """A value without parts that a rule is checked for."""

    rule: Rule


# None for what has no parts and no rule.
Shape: TypeAlias = Fields | Items | Members | Variants | Scalar | None


@cache
def shape_of(wire_type: Any) -> Shape:
    """Return what a wire type is made of."""
    if is_typeddict(wire_type):
        return Fields(fields_of(wire_type), wire_type.__optional_keys__)
    origin, arguments = get_origin(wire_type), get_args(wire_type)
    if origin is list:
        return Items(arguments[0])
    if origin is dict:
        return Members(arguments[1])
    rule = arguments[1] if origin is Annotated else None
    if isinstance(rule, UnionRule):
        return Variants(rule, rule.chooser(wire_type))
    if isinstance(rule, UniqueBy):
        return shape_of(arguments[0])
    return Scalar(rule) if isinstance(rule, Rule) else None
