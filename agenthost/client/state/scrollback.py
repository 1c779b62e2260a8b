"""How much of a terminal's output a client keeps, and how much of it has come by.

Pure. Hosts cut off the beginning of what they keep and say nothing of it; whoever follows a
terminal for long has to do the same, or fills the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_KEPT = 400_000
"""Characters of a terminal's output at which its beginning is cut off; hosts keep fewer."""

# What is left then, so that it is not cut all the time.
_LEFT = 300_000

# What a part counts beside its text: thousands of commands without output are much, too.
_PART = 64

_TEXTS = {"command": "output", "unclassified": "value"}


class Scrollback:
    """Counts what a terminal prints, and says when its state has to be cut."""

    def __init__(self) -> None:
        # Characters that came as actions, and how often the state was replaced in between.
        self.total = 0
        self.epoch = 0
        self._grown = 0

    def restart(self) -> None:
        """Take note of a snapshot: what it adds to the output is unknown."""
        self.epoch += 1
        self._grown = 0

    def take(self, action: Mapping[str, Any]) -> bool:
        """Count an action that was applied; return whether the state has to be cut."""
        text = action.get("data") if action.get("type") == "terminal/data" else None
        if isinstance(text, str):
            self.total += len(text)
            self._grown += len(text)
        self._grown += _PART
        if self._grown <= MOST_KEPT - _LEFT:
            return False
        self._grown = 0
        return True


def printed(state: Mapping[str, Any]) -> str:
    """Return all output that a terminal's state holds."""
    return "".join(_text(part) for part in state["content"])


def cut(state: Any, most: int = MOST_KEPT, left: int = _LEFT) -> Any:
    """Return a terminal's state with no more output than is kept; commands that run stay."""
    parts = state["content"]
    if sum(len(_text(part)) + _PART for part in parts) <= most:
        return state
    kept: list[Any] = []
    for part in reversed(parts):
        text = _text(part)
        if left > 0 or not kept:
            shorter = part if len(text) <= left else _shortened(part, text, left)
            kept.append(shorter)
        elif isinstance(part, dict) and part.get("isComplete") is False:
            kept.append({**part, "output": ""})
        left -= len(text) + _PART
    return {**state, "content": kept[::-1]}


def _text(part: Any) -> str:
    match part:
        case {"type": "command", "output": str(text)} | {
            "type": "unclassified",
            "value": str(text),
        }:
            return text
    # Of a type that takes none, or not what it should be.
    return ""


def _shortened(part: Mapping[str, Any], text: str, left: int) -> dict[str, Any]:
    end = text[len(text) - max(left, 0) :]
    # Behind a line's end there is no half of an escape sequence, as a rule.
    line = end.find("\n") + 1
    return {**part, _TEXTS[part["type"]]: end[line:]}
