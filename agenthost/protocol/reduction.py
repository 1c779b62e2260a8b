"""Applying an action to a channel's state, in the newest protocol version.

Owns the look-up of the reducer and the clock's spelling. Importing this module is what fills the
registry: every reducer module is imported here. Older protocol versions are translated to and from
this one by ``versions``; whether an action is allowed at all is the host's decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeVar, cast

from agenthost.protocol import annotations_reducers as _annotations
from agenthost.protocol import canvas_reducers as _canvas
from agenthost.protocol import changeset_reducers as _changeset
from agenthost.protocol import resource_watch_reducers as _resource_watch
from agenthost.protocol import root_reducers as _root
from agenthost.protocol import terminal_reducers as _terminal
from agenthost.protocol.automation import reducers as _automations
from agenthost.protocol.chat import field_reducers as _fields
from agenthost.protocol.chat import input_reducers as _inputs
from agenthost.protocol.chat import pending_reducers as _pending
from agenthost.protocol.chat import tool_call_reducers as _tool_calls
from agenthost.protocol.chat import turn_reducers as _turns
from agenthost.protocol.reducer_registry import Kind, appended_fields, kind_of, reducers
from agenthost.protocol.session import customization_reducers as _customizations
from agenthost.protocol.session import reducers as _session

S = TypeVar("S")

# A point in time: ISO 8601 as it goes on the wire, Unix milliseconds, or an aware datetime.
Moment: TypeAlias = str | int | float | datetime

# Every module that registers reducers. Naming them here is what keeps their imports.
REDUCER_MODULES = (
    _root,
    _session,
    _customizations,
    _turns,
    _tool_calls,
    _inputs,
    _pending,
    _fields,
    _terminal,
    _changeset,
    _annotations,
    _resource_watch,
    _automations,
    _canvas,
)

# Appending action type -> the field that holds the appended text, all of them: see ``appending``.
APPENDED_FIELDS: Mapping[str, str] = appended_fields

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def reduce_canonical(kind: Kind, state: S, action: Mapping[str, Any], now: str) -> S:
    """Return the state after an action; the same object when the action changes nothing.

    ``now`` is what a reducer stamps where the protocol wants a time. An unknown action, or one that
    belongs to another kind of channel, changes nothing.
    """
    action_type = action.get("type")
    if not isinstance(action_type, str) or kind_of(action_type) != kind:
        return state
    reducer = reducers.get(action_type)
    return state if reducer is None else cast(S, reducer(state, action, now))


def timestamp(now: Moment) -> str:
    """Spell a moment as the wire does: ISO 8601 in UTC with milliseconds and ``Z``.

    A string is taken to be spelled so already. Fractions of a millisecond are cut off.

    Raises:
        ValueError: a datetime without a time zone, which names no moment.
    """
    if isinstance(now, str):
        return now
    if not isinstance(now, datetime):
        now = _EPOCH + timedelta(milliseconds=int(now))
    if now.utcoffset() is None:
        raise ValueError("a moment needs a time zone")
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
