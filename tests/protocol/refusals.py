"""Every action by the name of its type, and how a check refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agenthost.errors import InvalidParams
from agenthost.protocol.envelopes import StateAction
from agenthost.protocol.reducer_registry import client_may_dispatch
from agenthost.protocol.reduction import REDUCER_MODULES
from agenthost.protocol.schema.unions import members_of, tags_of

__all__ = ["ACTIONS", "CLIENT_ACTIONS", "refusal_of", "refused_path"]

assert REDUCER_MODULES, "importing them says which actions a client may dispatch"


def flat(union: Any) -> list[Any]:
    """Return the TypedDicts of a union of unions."""
    members = members_of(union)
    return [leaf for member in members for leaf in flat(member)] if members else [union]


ACTIONS = {action.__name__: action for action in flat(StateAction)}
CLIENT_ACTIONS = {
    name: action
    for name, action in ACTIONS.items()
    if client_may_dispatch(str(tags_of(action, "type")[0]))
}


def refused_path(error: pytest.ExceptionInfo[InvalidParams]) -> str | None:
    """Return the path of a refusal, once it is known to speak our own words only."""
    refusal = error.value
    assert refusal.path is None or refusal.message.startswith(f"{refusal.path}: ")
    assert "Input should" not in refusal.message
    assert "pydantic" not in refusal.message
    json.dumps(refusal.to_wire(), allow_nan=False)
    return refusal.path


def refusal_of(check: Callable[[], object]) -> InvalidParams | None:
    """Return how a check refuses, or None when it does not; anything else it raises is a bug."""
    try:
        check()
    except InvalidParams as refusal:
        json.dumps(refusal.to_wire(), allow_nan=False)
        return refusal
    return None
