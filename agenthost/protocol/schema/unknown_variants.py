"""What this version of the protocol has no word for, found in what an agent of this host made.

From peers, variants that we do not know are kept: a newer one may mean something by them. An agent
of this host speaks this version, so in its actions such a variant is a mistake. Knows the wire
types' unions; that the value has the right shape otherwise is ``validation``'s affair.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, get_args, get_origin

from typing_extensions import is_typeddict

from agenthost.errors import shortened
from agenthost.protocol.schema.unions import Tagged, UnionRule, fields_of, tags_of


def find_unknown(value: Any, wire_type: Any, path: str) -> str | None:
    """Return where and why a sound value is none of this version; None when it is one."""
    origin, arguments = get_origin(wire_type), get_args(wire_type)
    if is_typeddict(wire_type):
        fields = fields_of(wire_type)
        return _first(
            find_unknown(member, fields[key], f"{path}.{key}")
            for key, member in value.items()
            if key in fields
        )
    if origin is list:
        return _first(
            find_unknown(item, arguments[0], f"{path}[{index}]") for index, item in enumerate(value)
        )
    if origin is dict:
        members = value.items()
        return _first(find_unknown(item, arguments[1], f"{path}.{key}") for key, item in members)
    if origin is Annotated and isinstance(arguments[1], UnionRule):
        return _look_into_union(value, wire_type, arguments[1], path)
    return None


def _look_into_union(value: Any, union: Any, rule: UnionRule, path: str) -> str | None:
    member = rule.chooser(union)(value)
    if member is not None:
        return find_unknown(value, member, path)
    if isinstance(rule, Tagged):
        known = ", ".join(str(tag) for tag in tags_of(union, rule.key))
        found = shortened(str(value[rule.key]))
        return f"{path}.{rule.key}: there is no {found!r}; there is {known}"
    # A plain string, where one may stand.
    return None


def _first(found: Iterable[str | None]) -> str | None:
    return next((problem for problem in found if problem is not None), None)
