"""How much of a chat is followed: all of its turns, or the newest ones.

Pure. Who asked for how much, and what was loaded since, is ``channel``'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """The newest turns of a chat, this many of them; None for all. Other channels have all."""

    turns: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all turns are wanted."""
        return self.turns is None

    def params(self) -> JsonObject:
        """Return what a subscription says of it."""
        return {} if self.turns is None else {"view": {"turns": self.turns}}

    def widened(self, other: TurnWindow) -> TurnWindow:
        """Return the larger of two windows."""
        if self.turns is None or other.turns is None:
            return WHOLE
        return TurnWindow(max(self.turns, other.turns))

    def keeping(self, loaded: int) -> TurnWindow:
        """Return a window that holds at least as many turns as are loaded now."""
        return self if self.turns is None else self.widened(TurnWindow(loaded))


WHOLE = TurnWindow()
NEWEST_TURN = TurnWindow(1)
