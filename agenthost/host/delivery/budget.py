"""How much waits for all clients together, and whose turn it is when that is too much.

Each principal has an equal share of the host's budget. As long as there is room, nobody's share
counts. When there is none, whoever holds more than its share waits with further answers, and is
disconnected where it has fallen behind; who holds less goes on as if nothing were. So nobody can
make the host grow without end, or keep others from what is theirs.

Large answers are counted by the pieces that they were made of: what many receivers share is in
memory once, and counts once.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections import deque
from collections.abc import AsyncIterator

from agenthost.transport import Encoded

# Smaller pieces are not worth the counting.
LEAST_COUNTED = 4 * 1024
# What an answer that is being made is taken to hold until it is known.
EXPECTED_BYTES = 16 * 1024 * 1024


class Budget:
    """The bytes that wait for all clients of a host."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.used = 0
        self._shares: dict[str, Share] = {}

    def share(self, name: str) -> Share:
        """Return a principal's share; those of one name have it together."""
        if name not in self._shares:
            self._shares[name] = Share(self)
        return self._shares[name]

    def has_room(self, share: Share) -> bool:
        """Tell whether somebody may have more wait for it."""
        if self.used <= self._limit:
            return True
        active = sum(1 for other in self._shares.values() if other.used)
        return share.used <= self._limit // max(1, active)

    def freed(self) -> None:
        """Let those go on who have waited for room."""
        for share in self._shares.values():
            share.wake()


class Share:
    """What waits for one principal."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.used = 0
        # Piece of an answer -> how many answers hold it. They are alive, so their ids are theirs.
        self._pieces: dict[int, int] = {}
        # Who waits for its turn, first come first served.
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def has_room(self) -> bool:
        """Whether more may wait for this principal."""
        return self._budget.has_room(self)

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for its turn."""
        return bool(self._queue)

    def count(self, size: int) -> None:
        """Note that so many bytes more wait, or fewer."""
        self.used += size
        self._budget.used += size
        if size < 0:
            self._budget.freed()

    def hold(self, answer: Encoded) -> None:
        """Count an answer until nobody has it any more: then it has left, or was dropped."""
        pieces = [(id(piece), len(piece)) for piece in answer.pieces if len(piece) > LEAST_COUNTED]
        if not pieces:
            return
        self.count(sum(size for key, size in pieces if self._add(key)))
        weakref.finalize(answer, self._let_go, pieces).atexit = False

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for room to make an answer in, and keep it until the answer itself is counted."""
        if self._queue or not self.has_room:
            waiter = asyncio.get_running_loop().create_future()
            self._queue.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self.count(-EXPECTED_BYTES)
                with contextlib.suppress(ValueError):
                    self._queue.remove(waiter)
                raise
        else:
            self.count(EXPECTED_BYTES)
        try:
            yield
        finally:
            self.count(-EXPECTED_BYTES)

    def wake(self) -> None:
        """Give the next ones their turn, as far as there is room."""
        while self._queue and self.has_room:
            waiter = self._queue.popleft()
            if not waiter.done():
                # Counted here and not by the one that wakes up, or all would wake at once.
                self.used += EXPECTED_BYTES
                self._budget.used += EXPECTED_BYTES
                waiter.set_result(None)

    def _add(self, key: int) -> bool:
        held = self._pieces.get(key, 0)
        self._pieces[key] = held + 1
        return not held

    def _let_go(self, pieces: list[tuple[int, int]]) -> None:
        freed = 0
        for key, size in pieces:
            held = self._pieces[key] - 1
            if held:
                self._pieces[key] = held
            else:
                del self._pieces[key]
                freed += size
        if freed:
            self.count(-freed)
