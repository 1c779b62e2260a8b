"""Validates peers' JSON against the wire types and words what is wrong with it.

Checks only: what passes is the peer's own object, so fields and variants that we do not know
survive. Two things are forgiven (see ``normalization``), and a copy without them is returned then.
A refusal is ``InvalidParams`` with the path of the first fault. Inside the program state is
trusted and not checked again. Whether a well-formed request is *allowed* is the host's policy.
The wire types, and the library that builds validators of them, are loaded for the first check.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from agenthost.errors import InvalidParams, MethodNotFound, shortened
from agenthost.protocol.methods import METHODS, Direction, Method

if TYPE_CHECKING:
    from pydantic_core import ValidationError


@cache
def action_types() -> frozenset[str]:
    """Return every action type that we know."""
    from agenthost.protocol.schema.unions import tags_of

    return frozenset(str(tag) for tag in tags_of(state_action(), "type"))


@cache
def state_action() -> Any:
    """Return the union of all actions; ``StateAction`` to those who need it to check one."""
    from agenthost.protocol.envelopes import StateAction

    return StateAction


def build_validators() -> None:
    """Build the validators of what clients send, which takes longer than any one check.

    Each is built when it is first needed as well; doing it before spares the first client the wait.
    """
    from agenthost.protocol.schema.unions import checker

    # In the table's order: what comes first on every connection comes first there.
    for method in METHODS.values():
        if Direction.TO_HOST in method.directions:
            checker(method.params)


def validate_params(method: str, params: Any) -> dict[str, Any]:
    """Check a request's or notification's params and return them.

    An optional field that is null counts as absent and is left out of what is returned, except
    inside the action of ``dispatchAction``, where it is refused. The fields of ``dispatchAction``
    are checked in order, so a path that begins with ``action`` says that ``channel`` and
    ``clientSeq`` are sound. Raises ``InvalidParams``, or ``MethodNotFound`` for a foreign method.
    """
    # What a client dispatches is judged as strictly inside its params as by itself.
    forgives_nulls = method != "dispatchAction"
    checked: dict[str, Any] = _checked(params, _method(method).params, "", nulls=forgives_nulls)
    return checked


def validate_result(method: str, result: Any) -> Any:
    """Check the result of a request and return it, optional nulls left out.

    Where the protocol says null, whatever came instead means no more than that.
    """
    expected = _method(method).result
    return None if expected is None else _checked(result, expected, "", nulls=True)


def validate_action(action: Any) -> dict[str, Any]:
    """Check an action by its type and return it; paths begin with ``action``.

    An optional field that is null is refused, because absence is a command in some actions:
    truncating a chat at no turn drops all of them.
    """
    checked: dict[str, Any] = _checked(action, state_action(), "action", nulls=False)
    if checked["type"] not in action_types():
        raise _refusal("action.type", f"unknown action type {_shown(checked['type'])}")
    return checked


def validate_as(type_name: str, value: Any) -> Any:
    """Check a value against the wire type of that name and return it; optional nulls are refused.

    Raises ``KeyError`` for a name that is no wire type's.
    """
    from agenthost.protocol.wire_types import WIRE_TYPES

    return _checked(value, WIRE_TYPES[type_name], "", nulls=False)


def _method(name: str) -> Method:
    method = METHODS.get(name)
    if method is None:
        raise MethodNotFound(f"unknown method {_shown(name)}")
    return method


def _checked(value: Any, wire_type: Any, root: str, *, nulls: bool) -> Any:
    fault = _first_fault(value, wire_type)
    if fault is None:
        return value
    # Only these can be forgiven, so every other first fault stands, however the rest may look.
    if fault.is_there and (fault.found is None or isinstance(fault.found, float)):
        from agenthost.protocol.schema.normalization import normalized

        try:
            repaired = normalized(value, wire_type, nulls=nulls)
        except RecursionError:
            raise _refusal(root, "nested too deeply") from None
        if repaired is not value:
            fault = _first_fault(repaired, wire_type)
            if fault is None:
                return repaired
    raise fault.refusal(root)


# What each kind of fault says was expected; the library's own sentences never leave this module.
_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "list_type": "a list",
    "string_type": "a string",
}


class _Fault(Struct, frozen=True):
    """The first thing wrong with a value."""

    kind: str
    # Where it is: keys and indices from the outside in.
    location: tuple[str | int, ...]
    # What the rule that was broken allows, in words, where the kind does not say it.
    allowed: str | None
    # What stands there, if anything does.
    found: Any
    is_there: bool

    def refusal(self, root: str) -> InvalidParams:
        if len(self.location) > _DEEPEST:
            return _refusal(root, "nested too deeply")
        path = _path(root, self.location)
        if not self.is_there:
            return _refusal(path, "is required")
        if self.kind in _EXPECTED:
            # The value itself stays out: it may be a secret put in the wrong shape.
            return _refusal(path, f"expected {_EXPECTED[self.kind]}, got {_named(self.found)}")
        if self.allowed:
            return _refusal(path, f"expected {self.allowed}, got {_shown(self.found)}")
        return _refusal(path, "is not acceptable")


@cache
def _checking() -> tuple[Callable[[Any], Any], type[ValidationError]]:
    """Return what makes a validator, and what that raises."""
    from pydantic_core import ValidationError

    from agenthost.protocol.schema.unions import checker

    return checker, ValidationError


def _first_fault(value: Any, wire_type: Any) -> _Fault | None:
    checker, invalid = _checking()
    try:
        checker(wire_type).validate_python(value, strict=True)
    except invalid as error:
        record: Mapping[str, Any] = error.errors(include_url=False, include_input=False)[0]
    else:
        return None
    context = record.get("ctx") or {}
    # A union names the discriminating key that is missing or wrong.
    location = (*record["loc"], *((context["key"],) if context.get("key") else ()))
    found, is_there = _look_up(value, location)
    return _Fault(record["type"], location, context.get("expected"), found, is_there)


def _look_up(value: Any, location: tuple[str | int, ...]) -> tuple[Any, bool]:
    for step in location:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None, False
    return value, True


def _refusal(path: str, why: str) -> InvalidParams:
    return InvalidParams(f"{path}: {why}" if path else why, path=path or None)


# No honest message comes near it; the library itself gives up at a few hundred.
_DEEPEST = 100

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def _path(root: str, location: tuple[str | int, ...]) -> str:
    path = root
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif _PLAIN_KEY.match(step) and shortened(step) == step:
            path += f".{step}" if path else step
        else:
            path += f"[{_shown(step)}]"
    return path


def _named(value: object) -> str:
    """Name the JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"


def _shown(value: object) -> str:
    """Show a short scalar as it was sent; name the type of anything else."""
    if isinstance(value, str):
        return json.dumps(shortened(value))
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return json.dumps(value)
    return _named(value)
