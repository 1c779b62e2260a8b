"""Cached result of applying pending actions to the confirmed state.

Pure. Owns when the last result still holds on a newer state; which members of a state a reducer
looks at is said where the reducers are, and what is pending is ``mirror``'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

_ABSENT = object()

# What grows in a turn while it runs and decides nothing: no reducer does more than carry it along.
_TEXTS = frozenset({"markdown", "reasoning"})
_USAGE = "usage"


class PendingOverlay:
    """The result of pending actions on one state, and how to carry it over to the next state."""

    __slots__ = ("_before", "_changed", "_removed", "_touched", "result")

    def __init__(self, before: Any, result: Any, touched: frozenset[str] | None) -> None:
        """Remember a result; ``touched`` are the members that the actions touch, None for any."""
        self.result = result
        self._before = before
        self._touched = touched
        self._changed: JsonObject = {}
        self._removed: list[str] = []
        for key in touched or ():
            is_there = result.get(key, _ABSENT)
            if is_there is _ABSENT:
                if key in before:
                    self._removed.append(key)
            elif is_there is not before.get(key, _ABSENT):
                self._changed[key] = is_there

    def moved_to(self, state: Any) -> bool:
        """Carry the result over to a newer state; False if the actions must be reduced again."""
        before = self._before
        if state is before:
            return True
        if self._touched is None:
            return False
        for key in self._touched:
            if state.get(key, _ABSENT) is before.get(key, _ABSENT):
                continue
            if key != "activeTurn" or not self._moved_turn(before.get(key), state.get(key)):
                return False
        self._before = state
        if self._changed or self._removed:
            self.result = {**state, **self._changed}
            for key in self._removed:
                del self.result[key]
        else:
            self.result = state
        return True

    def _moved_turn(self, before: Any, after: Any) -> bool:
        """Take over the text a running turn gained; False if an action depends on it."""
        shown = self._changed.get("activeTurn")
        if shown is None:
            # Left as it was, and so it will be; or ended, and its text with it.
            return "activeTurn" not in self._removed and _only_grew(before, after)
        if not _only_grew(before, after):
            return False
        parts = list(shown["responseParts"])
        for index, (old, new) in enumerate(
            zip(before["responseParts"], after["responseParts"], strict=True)
        ):
            if old is not new:
                # Only what the actions left alone has become what it became for the host.
                if index >= len(parts) or parts[index] is not old:
                    return False
                parts[index] = new
        moved = {**shown, "responseParts": parts}
        if before.get(_USAGE) is not after.get(_USAGE):
            if shown.get(_USAGE, _ABSENT) is not before[_USAGE]:
                return False
            moved[_USAGE] = after[_USAGE]
        self._changed["activeTurn"] = moved
        return True


def _only_grew(before: Any, after: Any) -> bool:
    """Return whether two forms of a turn differ in nothing but their text and what they used."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return False
    if before.keys() != after.keys():
        return False
    for key, old in before.items():
        new = after[key]
        if (
            new is not old
            and key != _USAGE
            and (key != "responseParts" or not _same_parts(old, new))
        ):
            return False
    return True


def _same_parts(before: list[JsonObject], after: list[JsonObject]) -> bool:
    if len(before) != len(after):
        return False
    if all(map(is_, before, after)):
        return True
    return all(
        old is new
        or (
            old["kind"] in _TEXTS
            and old.keys() == new.keys()
            and all(new[key] is value for key, value in old.items() if key != "content")
        )
        for old, new in zip(before, after, strict=True)
    )
