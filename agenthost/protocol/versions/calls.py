"""Finding the tool call that an action names, in a chat's state of any version."""

from __future__ import annotations

from collections.abc import Callable

from agenthost.protocol.versions.node_edits import Json, each, inside


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
