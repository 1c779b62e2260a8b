"""Unions of wire types, told apart by a discriminating key, by their keys, or by their JSON type.

``Annotated[A | B, Open("type")]`` is ``A | B`` to the type checker. Validation picks the one member
a value claims to be and reports that member's faults alone. An open union keeps an object with an
unknown discriminant as it is, because a newer peer may send variants we do not know; a closed one
refuses it. Validators are built on first use and shared, so a union of many members costs nothing
until one of them is met. How a refusal is worded for a peer is ``validation``'s affair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, TypeAlias, get_args, get_origin

from msgspec import Struct
from typing_extensions import get_type_hints

# Returns the member that a value claims to be, or None where it may be anything; raises
# ``PydanticCustomError``, a ``ValueError``, when the value cannot belong to the union.
Chooser: TypeAlias = Callable[[object], Any]


class UnionRule(Struct, frozen=True):
    """How the members of a union are told apart."""

    def chooser(self, union: Any) -> Chooser:
        """Return the function that finds a value's member in that union."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Build the validator that picks a member and checks the value against it alone."""
        from pydantic_core import core_schema

        choose = self.chooser(source)
        # Looked up by identity: hashing a large union on every message would cost more than
        # the check itself.
        checks: dict[int, Callable[..., object]] = {}

        def check(value: object) -> object:
            member = choose(value)
            if member is None:
                return value
            validate = checks.get(id(member))
            if validate is None:
                validate = checks[id(member)] = checker(member).validate_python
            return validate(value, strict=True)

        return core_schema.no_info_plain_validator_function(check)


class Tagged(UnionRule, frozen=True):
    """Members differ in the literal under one key; ``is_open`` lets unknown strings pass."""

    key: str
    is_open: bool

    def chooser(self, union: Any) -> Chooser:
        """Return the function that goes by the literal under the key."""
        key, is_open, known = self.key, self.is_open, _members_by_tag(union, self.key)

        def choose(value: object) -> Any:
            if not isinstance(value, dict):
                raise _refusal("an object")
            if key not in value:
                raise _refusal("", key=key)
            tag = value[key]
            # Other types never match, and 1 would pass for true.
            if isinstance(tag, str | bool) and tag in known:
                return known[tag]
            if is_open and isinstance(tag, str):
                return None
            raise _refusal("a string" if is_open else _one_of(known), key=key)

        return choose


def Open(key: str) -> Tagged:
    """Tell members apart by ``key`` and keep objects with an unknown string under it."""
    return Tagged(key, is_open=True)


def Closed(key: str) -> Tagged:
    """Tell members apart by ``key`` and refuse everything unknown."""
    return Tagged(key, is_open=False)


class StringOr(UnionRule, frozen=True):
    """A plain string, or an object of the one other member."""

    def chooser(self, union: Any) -> Chooser:
        """Return the function that goes by the JSON type; a string needs no further check."""
        (other,) = (member for member in members_of(union) if member is not str)

        def choose(value: object) -> Any:
            if isinstance(value, str):
                return None
            if isinstance(value, dict):
                return other
            raise _refusal("a string or an object")

        return choose


class ByKeys(UnionRule, frozen=True):
    """Members told apart by the keys they must have: the first whose ``marks`` are all present."""

    marks: tuple[tuple[str, ...], ...]
    is_open: bool = False

    def chooser(self, union: Any) -> Chooser:
        """Return the function that goes by the keys that are present."""
        shapes = tuple(zip(self.marks, members_of(union), strict=True))

        def choose(value: object) -> Any:
            if not isinstance(value, dict):
                raise _refusal("an object")
            for marks, member in shapes:
                if all(mark in value for mark in marks):
                    return member
            if self.is_open:
                return None
            raise _refusal("an object of a known shape")

        return choose


@cache
def checker(wire_type: Any) -> Any:
    """Return the validator of a wire type, built once; it stops at the first fault of a list."""
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    schema = TypeAdapter(wire_type).core_schema
    return SchemaValidator(_failing_fast(schema))


@cache
def fields_of(wire_type: Any) -> Mapping[str, Any]:
    """Return the types of a TypedDict's fields with annotations kept, requiredness taken off."""
    hints = get_type_hints(wire_type, include_extras=True)
    return {name: _bare(hint) for name, hint in hints.items()}


@cache
def members_of(union: Any) -> tuple[Any, ...]:
    """Return a union's members, looking through the annotation that may wrap it."""
    if get_origin(union) is Annotated:
        inner = get_args(union)[0]
        return members_of(inner) or (inner,)
    return get_args(union)


@cache
def tags_of(wire_type: Any, key: str) -> tuple[object, ...]:
    """Return the literals that a type allows under a key; a union answers for its members."""
    if get_origin(wire_type) is Annotated:
        return tuple(tag for member in members_of(wire_type) for tag in tags_of(member, key))
    literal = fields_of(wire_type)[key]
    assert get_origin(literal) is Literal, f"{wire_type.__name__}.{key} must be a literal"
    return get_args(literal)


@cache
def _members_by_tag(union: Any, key: str) -> Mapping[object, Any]:
    known: dict[object, Any] = {}
    for member in members_of(union):
        if _rule_of(member) in (Open(key), Closed(key)):
            # A union of unions told apart by one key is one large union.
            known.update(_members_by_tag(member, key))
        else:
            known.update((tag, member) for tag in tags_of(member, key))
    return known


def _rule_of(wire_type: Any) -> object:
    return get_args(wire_type)[1] if get_origin(wire_type) is Annotated else None


def _bare(hint: Any) -> Any:
    while get_origin(hint) in (NotRequired, Required):
        (hint,) = get_args(hint)
    return hint


def _refusal(expected: str, key: str | None = None) -> Exception:
    from pydantic_core import PydanticCustomError

    # The key lets the report name the discriminating field rather than the whole union.
    return PydanticCustomError("refused", "refused", {"expected": expected, "key": key})


def _one_of(known: Mapping[object, Any]) -> str:
    names = ["true" if tag is True else "false" if tag is False else f"'{tag}'" for tag in known]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _failing_fast(schema: Any) -> Any:
    """Make every list and map in a core schema stop at its first fault.

    Otherwise one hostile frame with a million wrong items would cost a million error records.
    """
    if isinstance(schema, list):
        return [_failing_fast(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    walked = {key: _failing_fast(part) for key, part in schema.items()}
    # A map of fields may have one named "type", which is no schema's kind.
    kind = walked.get("type")
    if isinstance(kind, str) and kind in _can_fail_fast():
        walked["fail_fast"] = True
    return walked


@cache
def _can_fail_fast() -> frozenset[str]:
    from pydantic_core import core_schema

    # Older releases of the library know the option for lists only.
    knows = "fail_fast" in core_schema.DictSchema.__annotations__
    return frozenset({"list", "dict"} if knows else {"list"})
