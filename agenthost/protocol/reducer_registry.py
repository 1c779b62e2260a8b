"""The table of reducers: one small function per action type, and who may dispatch it.

A reducer is ``(state, action, now) -> state``: pure, never mutating its input, returning *the same
object* when nothing changes. ``now`` is an ISO 8601 string, which only reducers of older protocols
look at: here every time comes with the action. An action's type is ``kind/name``; the kind says
which channel state it applies to. Knows no protocol versions: ``versions`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args

Kind = Literal[
    "root",
    "session",
    "chat",
    "terminal",
    "changeset",
    "annotations",
    "resourceWatch",
    "automation",
    "automationRun",
    "canvas",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

Reducer = Callable[[Any, Any, str], Any]
_R = TypeVar("_R", bound=Reducer)

_reducers: dict[str, Reducer] = {}
_kinds: dict[str, Kind] = {}
_client_dispatchable: set[str] = set()
_touched: dict[str, frozenset[str]] = {}
_appended_fields: dict[str, str] = {}

# Live read-only views: action type -> reducer, and appending action type -> the field that holds
# the appended text.
reducers: Mapping[str, Reducer] = MappingProxyType(_reducers)
appended_fields: Mapping[str, str] = MappingProxyType(_appended_fields)


def reduces(
    *action_types: str,
    client: bool = False,
    touches: tuple[str, ...] | None = None,
    appends: str | None = None,
) -> Callable[[_R], _R]:
    """Register the decorated reducer; ``client`` says that clients may dispatch the action too.

    ``touches`` promises that the reducer looks at no other members of the state than these and
    changes no others, so that it need not run anew when something else has changed.

    ``appends`` names the field with the text of an action that only appends: two neighbours on one
    target (see ``appending``) reduce to the same state as one that carries both texts.
    """

    def register(function: _R) -> _R:
        for action_type in action_types:
            if action_type in _reducers:
                raise ValueError(f"{action_type} has a reducer already")
            kind = kind_of(action_type)
            if kind is None:
                raise ValueError(f"{action_type} belongs to no channel kind")
            _reducers[action_type] = function
            _kinds[action_type] = kind
            if client:
                _client_dispatchable.add(action_type)
            if touches is not None:
                _touched[action_type] = frozenset(touches)
            if appends is not None:
                _appended_fields[action_type] = appends
        return function

    return register


def kind_of(action_type: str) -> Kind | None:
    """Return the channel kind that an action type belongs to, or None for a foreign one."""
    # Every action asks for its kind, and nearly all are known.
    known = _kinds.get(action_type)
    if known is not None:
        return known
    prefix, slash, _ = action_type.partition("/")
    return prefix if slash and prefix in KINDS else None


def client_may_dispatch(action_type: str) -> bool:
    """Return whether a client may dispatch this action; False for unknown types."""
    return action_type in _client_dispatchable


def touched(action_type: str) -> frozenset[str] | None:
    """Return the state members that an action's reducer reads or writes; None for any."""
    return _touched.get(action_type)
