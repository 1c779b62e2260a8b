"""Edits of wire data for translations: tolerant of any shape, sharing whatever did not change.

What a peer sent is translated before it is validated, so nothing here may trip over a value of the
wrong type: such a value is given back as it is, for the validation to refuse. Of the protocol's
nodes it knows the tool calls that actions name; the rest is ``node_walks``' affair.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from agenthost.protocol.json_edits import without

Json = dict[str, Any]


def each(items: Any, edit: Callable[[Json], Json | None]) -> Any:
    """Return the list with its objects edited, and without those that became None."""
    if not isinstance(items, list):
        return items
    edited = [edit(item) if isinstance(item, dict) else item for item in items]
    if all(map(is_, edited, items)):
        return items
    return [new for new, old in zip(edited, items, strict=True) if new is not None or old is None]


def each_value(node: Json, edit: Callable[[Any], Any]) -> Json:
    """Return the object with the value of each member edited."""
    edited = {key: edit(value) for key, value in node.items()}
    return node if all(edited[key] is value for key, value in node.items()) else edited


def inside(node: Json, key: str, edit: Callable[[Any], Any]) -> Json:
    """Return the node with one member edited; a member that becomes None is left out."""
    value = node.get(key)
    if value is None:
        return node
    edited = edit(value)
    if edited is value:
        return node
    return without(node, key) if edited is None else {**node, key: edited}


def put(node: Json, key: str, value: Any) -> Json:
    """Return the node with a member set, or left out when the value is None."""
    return without(node, key) if value is None else {**node, key: value}


def dropping(*keys: str) -> Callable[[Json], Json]:
    """Return the edit that leaves those members out."""
    return lambda node: without(node, *keys)


def without_history(kind: str, state: Any) -> Any:
    """Withhold a chat's completed turns: no action's translation may cost more in a longer one."""
    return {**state, "turns": []} if kind == "chat" and state["turns"] else state


def find_call(state: Json, action: Json) -> Json | None:
    """Return the call of the action's id, if the turn that it names is active.

    An agent may use an id again: then it is the last call that the action is about.
    """
    turn = _named_turn(state, action)
    for part in [] if turn is None else reversed(turn["responseParts"]):
        if _is_named(part, action):
            call: Json = part["toolCall"]
            return call
    return None


def edit_calls(state: Json, action: Json, edit: Callable[[Json], Json]) -> Json:
    """Return the state with every call edited that the action would reach."""
    if _named_turn(state, action) is None:
        return state

    def edit_part(part: Json) -> Json:
        return inside(part, "toolCall", edit) if _is_named(part, action) else part

    def edit_turn(turn: Json) -> Json:
        return inside(turn, "responseParts", lambda parts: each(parts, edit_part))

    return inside(state, "activeTurn", edit_turn)


def _named_turn(state: Json, action: Json) -> Json | None:
    turn: Json | None = state.get("activeTurn")
    return turn if turn is not None and turn["id"] == action.get("turnId") else None


def _is_named(part: Json, action: Json) -> bool:
    if part["kind"] != "toolCall":
        return False
    return bool(part["toolCall"]["toolCallId"] == action.get("toolCallId"))
