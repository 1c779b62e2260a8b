"""Decides what a client gets back of its own action: what it sent, or a translation.

A client applies what comes back under its number. In most cases that is what it sent. But its
words can mean more in its version than they did in the newest one (an edit that was not taken, a
review that will not begin) or less (a child that its reducers cannot switch); then it gets what
everybody of its version gets, and holds what they hold.
"""

from __future__ import annotations

from typing import Any

from agenthost.protocol.json_edits import same
from agenthost.protocol.versions.ladder import translator
from agenthost.protocol.versions.node_edits import without_history
from agenthost.protocol.versions.reduction import reduce

_SOME_TIME = "1970-01-01T00:00:00.000Z"

# What reducers raise on words that only their translation has made sense of.
_MISSHAPEN = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def echo(
    version: str,
    kind: str,
    as_sent: Any,
    before: Any,
    action: Any,
    after: Any,
    *,
    reviewable: bool = True,
) -> list[Any]:
    """Return the actions that answer what a client of a version sent and the host accepted.

    ``action`` is what it meant in the newest version, and led from one state to the other.
    """
    ladder = translator(version)
    if ladder.is_identity:
        return [as_sent]
    told = ladder.action_down(kind, before, action, after, reviewable=reviewable)
    if not told or told == [as_sent]:
        return [as_sent]
    held = ladder.state_down(kind, without_history(kind, before), reviewable=reviewable)
    try:
        meant = _reduced(version, kind, held, as_sent)
    except _MISSHAPEN:
        return told
    return [as_sent] if same(meant, _reduced(version, kind, held, *told)) else told


def changes_nothing(version: str, kind: str, as_sent: Any, state: Any) -> bool:
    """Return whether an action that changed nothing here changes nothing for its sender either."""
    ladder = translator(version)
    if ladder.is_identity:
        return True
    held = ladder.state_down(kind, without_history(kind, state))
    try:
        return _reduced(version, kind, held, as_sent) is held
    except _MISSHAPEN:
        return False


def _reduced(version: str, kind: str, state: Any, *actions: Any) -> Any:
    for action in actions:
        state = reduce(kind, state, action, now=_SOME_TIME, version=version)
    return state
