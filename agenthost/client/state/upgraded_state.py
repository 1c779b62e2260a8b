"""An older host's state in the newest version's form, cached.

Pure. Owns what is remembered between two looks at the same channel; the translation itself is the
version ladder's.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any

from agenthost.protocol import translator
from agenthost.protocol.json_edits import without
from agenthost.protocol.versions import NOWHERE

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.versions import Whereabouts


class UpgradedState:
    """Translates the successive states of one channel UP; on the newest version it does nothing."""

    def __init__(self, kind: str, version: str, around: Whereabouts = NOWHERE) -> None:
        self._kind = kind
        self._around = around
        self._ladder = translator(version)
        # Whether an older host without cursors has said that there are no older turns.
        self._exhausted = False
        # The states that were asked for last, newest first, and their translations: the confirmed
        # one and the one with what is pending are looked at in turns.
        self._shown: list[tuple[Any, Any]] = []
        # The last list of completed turns, and their translations.
        self._turns: list[JsonObject] = []
        self._shown_turns: list[JsonObject] = []

    def state(self, state: Any) -> Any:
        """Return a state's translation; the same object as long as the state is the same."""
        if self._ladder.is_identity:
            return state
        for seen, shown in self._shown:
            if seen is state:
                return shown
        translate = self._chat if self._kind == "chat" else self._whole
        shown = translate(state)
        self._shown = [(state, shown), *self._shown[:1]]
        return shown

    def set_exhausted(self, *, exhausted: bool) -> None:
        """Record whether all older turns are loaded, where states do not say so."""
        self._exhausted = exhausted
        self._shown.clear()

    def _whole(self, state: Any) -> Any:
        return self._ladder.state_up(self._kind, state, around=self._around)

    def _chat(self, state: JsonObject) -> JsonObject:
        # Completed turns are many and do not change: each is translated once. All that the rest
        # of a chat's translation asks of them is which one is the oldest.
        turns = state["turns"]
        shown: JsonObject = self._ladder.state_up(self._kind, {**state, "turns": turns[:1]})
        shown = {**shown, "turns": self._translated(turns)}
        if self._exhausted and not self._ladder.pages_into_state:
            return without(shown, "turnsNextCursor")
        return shown

    def _translated(self, turns: list[JsonObject]) -> list[JsonObject]:
        if turns is not self._turns:
            shared = min(len(turns), len(self._turns))
            same = shared if all(map(is_, turns[:shared], self._turns)) else 0
            fresh = [self._ladder.turn_up(turn) for turn in turns[same:]]
            self._shown_turns = [*self._shown_turns[:same], *fresh]
            self._turns = turns
        return self._shown_turns
