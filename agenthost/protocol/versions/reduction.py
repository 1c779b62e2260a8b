"""Applying an action to a channel's state, in any supported version's own form.

The reducers of an older version are the canonical ones, overlaid by what each step on the way down
says that its older version does otherwise, and without the actions that it does not have. Hosts
reduce in the newest version only; the older reducers are what an old client runs, and so the judge
of every translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agenthost.protocol.json_edits import same_if_equal
from agenthost.protocol.reducer_registry import KINDS, Reducer, kind_of, reducers, touched
from agenthost.protocol.reduction import Moment, reduce_canonical, timestamp
from agenthost.protocol.versions.steps import steps_to
from agenthost.protocol.versions.supported import NEWEST, exists_in

if TYPE_CHECKING:
    from agenthost.protocol.versions.step import ReducerTable

S = TypeVar("S")


def reduce(
    kind: str, state: S, action: Mapping[str, Any], *, now: Moment, version: str = NEWEST
) -> S:
    """Return the state after an action, both in that version's wire form.

    The very state is given back when the action changes nothing: when it has no effect there, is
    unknown to the version, or belongs to another kind of channel.

    Raises:
        ValueError: no such kind of channel, no such version, or a time without a zone.
    """
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of channel")
    moment = timestamp(now)
    if version == NEWEST:
        return reduce_canonical(kind, state, action, moment)
    table = reducers_of(version)
    action_type = action.get("type")
    if not isinstance(action_type, str) or kind_of(action_type) != kind:
        return state
    reducer = table.get(action_type)
    return state if reducer is None else cast(S, reducer(state, action, moment))


@cache
def reducers_of(version: str) -> ReducerTable:
    """Return the reducers of a supported version by action type."""
    table: ReducerTable = reducers
    for step in steps_to(version):
        kept = {name: reducer for name, reducer in table.items() if exists_in(name, step.older)}
        otherwise = {
            name: _keeping_identity(reducer) for name, reducer in step.reducers(table).items()
        }
        table = {**kept, **otherwise}
    return table


def touched_in(version: str, action_type: str) -> frozenset[str] | None:
    """Return what an action can look at or change of a state in that version; None for anything."""
    # What an older version does otherwise has made no promise.
    same = version == NEWEST or reducers_of(version).get(action_type) is reducers.get(action_type)
    return touched(action_type) if same else None


def _keeping_identity(reducer: Reducer) -> Reducer:
    """Make a reducer return the same state object if nothing changed."""

    def reduce(state: Any, action: Any, now: str) -> Any:
        return same_if_equal(state, reducer(state, action, now))

    return reduce
