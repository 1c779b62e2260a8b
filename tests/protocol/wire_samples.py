"""Values of any wire type, made from the type itself, and every place inside them.

So that tests can say something about *each* field of *each* message without listing them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from typing_extensions import is_typeddict

from agenthost.protocol.schema.lists import UniqueBy
from agenthost.protocol.schema.scalars import (
    CatalogueSpelling,
    Finite,
    NonEmpty,
    OpenWord,
    Primitive,
    RootSpelling,
    Rule,
    Unchecked,
    Whole,
)
from agenthost.protocol.schema.unions import Tagged, UnionRule, fields_of, members_of

__all__ = [
    "Place",
    "changed",
    "full",
    "minimal",
    "places",
    "plain",
    "removed",
    "spelled",
    "variants",
]

Step = str | int


@dataclass(frozen=True)
class Place:
    """One field of one object inside a sample."""

    location: tuple[Step, ...]
    wire_type: Any
    is_required: bool
    # Whether a union goes by this field, so that an open one takes any string here.
    is_tag: bool

    @property
    def path(self) -> str:
        return spelled(self.location)

    @property
    def wrong(self) -> list[Any]:
        """Values that must be refused here; none where anything goes."""
        if get_origin(self.wire_type) is Literal:
            return [7, [], {}] if self.is_tag else [7, [], {}, "no such thing"]
        return _wrong(self.wire_type)


def spelled(location: tuple[Step, ...], root: str = "") -> str:
    """Spell a location as a refusal does."""
    path = root
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def minimal(wire_type: Any) -> Any:
    """Return a valid value with required fields only."""
    return _sample(wire_type, with_optional=False, around=())


def full(wire_type: Any) -> Any:
    """Return a valid value with every field, and one item in every list and map."""
    return _sample(wire_type, with_optional=True, around=())


def variants(wire_type: Any) -> list[Any]:
    """Return full values that between them have every member of every union at least once."""
    return [full(wire_type), *_others(wire_type, ())]


def plain(wire_type: Any) -> Any:
    """Return a list's type without the rule for the list as a whole."""
    rule = get_args(wire_type)[1] if get_origin(wire_type) is Annotated else None
    return get_args(wire_type)[0] if isinstance(rule, UniqueBy) else wire_type


def places(
    value: Any, wire_type: Any, at: tuple[Step, ...] = (), tags: frozenset[str] = frozenset()
) -> Iterator[Place]:
    """Yield every field of every object in a value, from the outside in."""
    wire_type = plain(wire_type)
    if is_typeddict(wire_type):
        for name, field in fields_of(wire_type).items():
            if name in value:
                is_required = name in wire_type.__required_keys__
                yield Place((*at, name), field, is_required, name in tags)
                yield from places(value[name], field, (*at, name))
        return
    origin, arguments = get_origin(wire_type), get_args(wire_type)
    if origin is Annotated and isinstance(arguments[1], UnionRule):
        rule, member = arguments[1], arguments[1].chooser(arguments[0])(value)
        if member is not None:
            key = {rule.key} if isinstance(rule, Tagged) else set()
            yield from places(value, member, at, tags | key)
    elif origin is list or origin is dict:
        for step, item in enumerate(value) if origin is list else value.items():
            yield from places(item, arguments[-1], (*at, step))


def _wrong(wire_type: Any) -> list[Any]:
    rule = get_args(wire_type)[1] if get_origin(wire_type) is Annotated else None
    if wire_type is Any or isinstance(rule, Unchecked):
        return []
    if isinstance(rule, Whole | Finite):
        below = [] if rule.minimum is None else [rule.minimum - 1]
        fraction = [1.5] if isinstance(rule, Whole) else []
        return ["1", True, float("nan"), float("inf"), 10**400, [], *below, *fraction]
    if isinstance(rule, OpenWord):
        return [7, [], {}]
    if isinstance(rule, UniqueBy):
        twice = full(wire_type) * 2
        return [7, True, "text", twice]
    if isinstance(rule, NonEmpty | RootSpelling | CatalogueSpelling):
        return [7, "", []]
    if isinstance(rule, Primitive):
        return [[], {}]
    if wire_type is bool:
        return [0, "true", []]
    if wire_type is str or isinstance(rule, UnionRule):
        return [7, True, []]
    # Objects, maps and lists.
    return [7, True, "text"]


def changed(value: Any, location: tuple[Step, ...], new: Any) -> Any:
    """Return a copy of the value with another one at that location."""
    edited = copy.deepcopy(value)
    holder = edited
    for step in location[:-1]:
        holder = holder[step]
    holder[location[-1]] = new
    return edited


def removed(value: Any, location: tuple[Step, ...]) -> Any:
    """Return a copy of the value without what is at that location."""
    edited = copy.deepcopy(value)
    holder = edited
    for step in location[:-1]:
        holder = holder[step]
    del holder[location[-1]]
    return edited


def _sample(wire_type: Any, *, with_optional: bool, around: tuple[Any, ...]) -> Any:
    if is_typeddict(wire_type):
        # A type inside itself ends where it may.
        deeper = with_optional and wire_type not in around
        keys = fields_of(wire_type) if deeper else wire_type.__required_keys__
        return {
            key: _sample(field, with_optional=with_optional, around=(*around, wire_type))
            for key, field in fields_of(wire_type).items()
            if key in keys
        }
    origin, arguments = get_origin(wire_type), get_args(wire_type)
    if origin is Annotated:
        if isinstance(arguments[1], OpenWord | UniqueBy):
            return _sample(arguments[0], with_optional=with_optional, around=around)
        return _annotated(wire_type, arguments[1], with_optional, around)
    if origin is Literal:
        return arguments[0]
    if origin is list:
        return [_sample(arguments[0], with_optional=with_optional, around=around)]
    if origin is dict:
        return {"key": _sample(arguments[1], with_optional=with_optional, around=around)}
    return {str: "text", bool: True, Any: {"free": None}}[wire_type]


def _annotated(wire_type: Any, rule: Any, with_optional: bool, around: tuple[Any, ...]) -> Any:
    if isinstance(rule, UnionRule):
        first = members_of(wire_type)[0]
        return _sample(first, with_optional=with_optional, around=around)
    assert isinstance(rule, Rule)
    samples: dict[type[Rule], Any] = {
        Whole: 3,
        Finite: 0.5,
        NonEmpty: "text",
        RootSpelling: "ahp-root://",
        CatalogueSpelling: "ahp-automations://",
        Primitive: None,
        Unchecked: ["1.0.0"],
    }
    return samples[type(rule)]


def _others(wire_type: Any, around: tuple[Any, ...]) -> Iterator[Any]:
    """Yield samples that differ from the full one in one union's member."""
    wire_type = plain(wire_type)
    if is_typeddict(wire_type):
        if wire_type in around:
            return
        for key, field in fields_of(wire_type).items():
            for other in _others(field, (*around, wire_type)):
                yield {**full(wire_type), key: other}
        return
    origin, arguments = get_origin(wire_type), get_args(wire_type)
    if origin is Annotated and isinstance(arguments[1], UnionRule):
        for index, member in enumerate(members_of(wire_type)):
            if index:
                yield full(member)
            yield from _others(member, around)
    elif origin is list:
        yield from ([other] for other in _others(arguments[0], around))
    elif origin is dict:
        yield from ({"key": other} for other in _others(arguments[1], around))
