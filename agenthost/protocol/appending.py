"""Actions that only append text: what they append to, and runs of them on one target.

Which actions these are is declared at their reducers (``@reduces(..., appends=...)``). A run of
them can be folded into the state at once, so that a piece costs the same in a long text as in a
short one, and neighbours can be sent as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agenthost.protocol.reduction import APPENDED_FIELDS

# A plain copy, which is quicker to look up in.
_FIELDS = dict(APPENDED_FIELDS)

# The action's type, and the turn and the part it appends to, where it names them.
AppendKey: TypeAlias = tuple[str, str | None, str | None]

# A short piece costs several times its length as an object of its own; joined by so many, that
# hardly matters any more, and each piece is still copied only twice.
PIECES_JOINED = 1024


class GrowingText:
    """Appending costs the same however long the text is, and memory stays near its length."""

    __slots__ = ("_blocks", "_pieces")

    def __init__(self) -> None:
        # Joined pieces, and those that came after.
        self._blocks: list[str] = []
        self._pieces: list[str] = []

    def append(self, piece: str) -> None:
        """Add a piece at the end."""
        self._pieces.append(piece)
        if len(self._pieces) == PIECES_JOINED:
            self._blocks.append("".join(self._pieces))
            self._pieces.clear()

    def take(self) -> str:
        """Return the text, and begin anew."""
        pieces = self._pieces
        text = pieces[0] if len(pieces) == 1 and not self._blocks else str(self)
        pieces.clear()
        self._blocks.clear()
        return text

    def __bool__(self) -> bool:
        return bool(self._pieces or self._blocks)

    def __str__(self) -> str:
        return "".join((*self._blocks, *self._pieces))


@dataclass(slots=True)
class AppendRun:
    """Text that follows an append to the same target and is not folded into the state yet."""

    key: AppendKey
    # The append that began the run; it has been applied.
    action: Mapping[str, Any]
    now: str
    text: GrowingText = field(default_factory=GrowingText)
    # Where the actions hold their text.
    field: str = field(init=False)

    def __post_init__(self) -> None:
        self.field = _FIELDS[self.key[0]]

    def folded(self) -> dict[str, Any]:
        """Return one action that appends all the text gathered, and begin to gather anew."""
        return {**self.action, self.field: self.text.take()}


def append_key(action: Mapping[str, Any]) -> AppendKey | None:
    """Say what an action appends to; None for one that does not just append text."""
    action_type = action.get("type", "")
    appended = _FIELDS.get(action_type)
    if appended is None or "_meta" in action or not isinstance(action.get(appended), str):
        return None
    return (action_type, action.get("turnId"), action.get("partId"))


def appended_text(action: Mapping[str, Any]) -> str:
    """Return the text that an appending action appends."""
    text: str = action[_FIELDS[action["type"]]]
    return text


def with_text(action: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return an appending action with another text."""
    return {**action, _FIELDS[action["type"]]: text}
