"""Snapshots of a chat as JSON, cut to a window of turns; each completed turn is encoded once.

A long chat's snapshot is then mostly concatenation. Turns are compared by identity, because
reducers share what they keep; their JSON lies in blocks, so that thousands of turns are a few
hundred pieces to join. Knows nothing of channels.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING

from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.versions import NEWEST, translator

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState, CompletedTurn

# A block is closed when it reaches this many bytes.
BLOCK_BYTES = 64 * 1024


class ChatEncoder:
    """Writes the states of one chat in all versions."""

    def __init__(self) -> None:
        self._turns: dict[str, EncodedTurns] = {}

    def encode(
        self, state: ChatState, version: str, window: int, *, reviewable: bool
    ) -> Sequence[bytes]:
        """Encode a chat from one of its turns on."""
        return self._turns_in(version).encode(state, window)

    def sizes(self, turns: list[CompletedTurn]) -> list[int]:
        """Return how many bytes each completed turn takes on the wire."""
        return self._turns_in(NEWEST).sizes(turns)

    def _turns_in(self, version: str) -> EncodedTurns:
        turns = self._turns.get(version)
        if turns is None:
            turns = self._turns[version] = EncodedTurns(version)
        return turns


class EncodedTurns:
    """The encoded history of one chat in one version."""

    def __init__(self, version: str) -> None:
        self._translator = translator(version)
        # The turns that are encoded here.
        self._turns: list[CompletedTurn] = []
        # Where each turn's JSON ends, counted over all blocks; a comma stands before each turn.
        self._ends: list[int] = []
        # The JSON, and where each block begins.
        self._blocks: list[bytes] = []
        self._starts: list[int] = []
        # The block and the place in it that somebody was shown the history from last, and what
        # it was: the next one is likely to ask for the same.
        self._shown: tuple[bytes, int, bytes] = (b"", 0, b"")

    def encode(self, state: ChatState, first_turn: int) -> Sequence[bytes]:
        """Encode a chat state from one of its turns on, as pieces that belong together."""
        self._refresh(state["turns"])
        rest = self._translator.state_down("chat", {**state, "turns": []})
        head = dumps({key: value for key, value in rest.items() if key != "turns"})
        return (head[:-1], b',"turns":[', *self._cut_to_window(first_turn), b"]}")

    def sizes(self, turns: list[CompletedTurn]) -> list[int]:
        """Return how many bytes each turn takes."""
        self._refresh(turns)
        return [end - start for start, end in zip([0, *self._ends], self._ends, strict=False)]

    def _cut_to_window(self, first_turn: int) -> list[bytes]:
        """Return the turns from a window's first one on."""
        if first_turn >= len(self._turns):
            return []
        # The comma before the first turn shown is left out.
        begin = (self._ends[first_turn - 1] if first_turn else 0) + 1
        number = bisect_right(self._starts, begin) - 1
        block, place = self._blocks[number], begin - self._starts[number]
        if self._shown[0] is not block or self._shown[1] != place:
            self._shown = (block, place, block[place:])
        return [self._shown[2], *self._blocks[number + 1 :]]

    def _refresh(self, turns: list[CompletedTurn]) -> None:
        if turns is self._turns:
            return
        kept = len(self._turns)
        if kept > len(turns) or not all(map(is_, self._turns, turns)):
            pairs = zip(self._turns, turns, strict=False)
            differ = (index for index, (old, new) in enumerate(pairs) if old is not new)
            kept = next(differ, min(kept, len(turns)))
            self._forget_from(kept)
        down = self._translator.turn_down
        self._extend([b"," + dumps(down(turn)) for turn in turns[kept:]])
        self._turns = turns

    def _extend(self, encoded: list[bytes]) -> None:
        gathered: list[bytes] = []
        if self._blocks and len(self._blocks[-1]) < BLOCK_BYTES:
            gathered.append(self._blocks.pop())
            self._starts.pop()
        size = sum(map(len, gathered))
        for turn in encoded:
            gathered.append(turn)
            size += len(turn)
            self._ends.append((self._ends[-1] if self._ends else 0) + len(turn))
            if size >= BLOCK_BYTES:
                self._close(gathered, size)
                gathered, size = [], 0
        if gathered:
            self._close(gathered, size)

    def _close(self, gathered: list[bytes], size: int) -> None:
        self._starts.append((self._ends[-1] if self._ends else 0) - size)
        self._blocks.append(b"".join(gathered))

    def _forget_from(self, kept: int) -> None:
        """Forget all turns from a position on."""
        del self._ends[kept:]
        end = self._ends[-1] if self._ends else 0
        while self._starts and self._starts[-1] >= end:
            self._starts.pop()
            self._blocks.pop()
        if self._blocks:
            self._blocks[-1] = self._blocks[-1][: end - self._starts[-1]]
