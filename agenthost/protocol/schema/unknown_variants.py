"""Finds variants and words that this version of the protocol does not know.

From peers, those that we do not know are kept: a newer one may mean something by them. An agent
of this host speaks this version, so in its actions they are a mistake. Knows the wire types'
unions and words; that the value has the right shape otherwise is ``validation``'s affair.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from agenthost.errors import shortened
from agenthost.protocol.schema.scalars import OpenWord
from agenthost.protocol.schema.type_walk import Fields, Items, Members, Scalar, Variants, shape_of
from agenthost.protocol.schema.unions import Tagged, tags_of


def find_unknown(value: Any, wire_type: Any, path: str) -> str | None:
    """Return the first unknown variant or word in a valid value, with its path, or None."""
    match shape_of(wire_type):
        case Fields(types):
            return _first(
                find_unknown(member, types[key], f"{path}.{key}")
                for key, member in value.items()
                if key in types
            )
        case Items(item_type):
            return _first(
                find_unknown(item, item_type, f"{path}[{index}]")
                for index, item in enumerate(value)
            )
        case Members(member_type):
            return _first(
                find_unknown(member, member_type, f"{path}.{key}") for key, member in value.items()
            )
        case Variants(rule, choose):
            member = choose(value)
            if member is not None:
                return find_unknown(value, member, path)
            # Otherwise it is a plain string, where one may stand.
            if isinstance(rule, Tagged):
                return _no_such(value[rule.key], tags_of(wire_type, rule.key), f"{path}.{rule.key}")
        case Scalar(OpenWord()):
            known = get_args(get_args(wire_type)[0])
            return None if value in known else _no_such(value, known, path)
    return None


def _no_such(found: Any, known: tuple[object, ...], path: str) -> str:
    there_is = ", ".join(str(tag) for tag in known)
    return f"{path}: there is no {shortened(str(found))!r}; there is {there_is}"


def _first(found: Iterable[str | None]) -> str | None:
    return next((problem for problem in found if problem is not None), None)
