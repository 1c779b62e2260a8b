"""Small states to reduce from, and data that cannot be changed by accident.

Reducers must never mutate what they are given. Everything made here refuses to be mutated, so any
test that reduces from it proves that as well.
"""

from __future__ import annotations

from typing import Any, NoReturn

from agenthost.protocol.reducer_registry import kind_of
from agenthost.protocol.reduction import reduce_canonical

NOW = "2026-01-02T03:04:05.006Z"
THEN = "2025-12-31T23:59:59.999Z"

IDLE, ERROR, IN_PROGRESS, INPUT_NEEDED, IS_READ, IS_ARCHIVED = 1, 2, 8, 24, 32, 64
# A bit that no version defines, which must survive everything.
UNKNOWN_BIT = 1 << 20

USER = {"kind": "user"}
MESSAGE = {"text": "hello", "origin": USER}


def _refuse(*args: object, **kwargs: object) -> NoReturn:
    raise AssertionError("a reducer mutated its input")


class FrozenDict(dict[str, Any]):
    """A dict that refuses every change."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


class FrozenList(list[Any]):
    """A list that refuses every change."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse


def frozen(value: Any) -> Any:
    """Return JSON data that refuses to be changed, at every depth."""
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if isinstance(value, dict):
        return FrozenDict({key: frozen(member) for key, member in value.items()})
    if isinstance(value, list):
        return FrozenList(frozen(item) for item in value)
    return value


def reduced(state: Any, *actions: dict[str, Any], now: str = NOW) -> Any:
    """Apply actions one after another to the kind of state that each is for."""
    for action in actions:
        kind = kind_of(action["type"])
        assert kind is not None
        state = reduce_canonical(kind, frozen(state), frozen(action), now)
    return state


def changes_nothing(state: Any, action: dict[str, Any]) -> bool:
    """Say whether an action gives back the very same object."""
    before = frozen(state)
    return reduced(before, action) is before


def session(**members: Any) -> Any:
    """Return a session that is ready and idle."""
    state = {
        "provider": "demo",
        "title": "A session",
        "status": IDLE,
        "lifecycle": "ready",
        "activeClients": [],
        "chats": [],
    }
    return frozen({**state, **members})


def chat(*parts: Any, status: int | None = None, **members: Any) -> Any:
    """Return a chat in whose active turn ``t1`` the given parts have been written so far."""
    turn = {"id": "t1", "startedAt": THEN, "message": MESSAGE, "responseParts": list(parts)}
    status = IN_PROGRESS if status is None else status
    return idle_chat(activeTurn=turn, status=status, **members)


def idle_chat(**members: Any) -> Any:
    """Return a chat without an active turn."""
    state = {
        "resource": "ahp-chat:/c1",
        "title": "A chat",
        "status": IDLE,
        "modifiedAt": THEN,
        "turns": [],
    }
    return frozen({**state, **members})


def finished_turn(turn_id: str, **members: Any) -> dict[str, Any]:
    """Return a turn as it stands in the transcript."""
    turn = {"id": turn_id, "message": MESSAGE, "responseParts": [], "state": "complete"}
    return {**turn, **members}


def parts_of(state: Any) -> Any:
    """Return the parts of the active turn."""
    return state["activeTurn"]["responseParts"]


def only_call(state: Any) -> Any:
    """Return the one tool call of the active turn."""
    [part] = parts_of(state)
    return part["toolCall"]
