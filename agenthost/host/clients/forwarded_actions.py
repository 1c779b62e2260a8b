"""Actions that a cluster's front node has forwarded to their owner, each decided once.

A front that heard no answer, because a link broke, passes an action on again; so does another
front, for a client that has come back there. Owns that each of them is decided once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from types import TracebackType
from typing import Self

# How a refusal ends whose only reason is that somebody else decides by now; nothing was done.
OWNED_ELSEWHERE = "is with another node now"
# As many as may be under way of one client, twice.
MOST_TAKEN = 512


class TakenAction:
    """One action; entered while it is being decided."""

    def __init__(self) -> None:
        # Whether it was taken up before.
        self.is_known = False
        # Whether somebody else decides: then it may come back, and is judged again.
        self.is_elsewhere = False
        # What became of it: why it was refused, or that it was applied.
        self.refusal: str | None = None
        self.is_applied = False
        self._decided = asyncio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc is not None:
            self.refusal = "the host could not carry this out"
        self._decided.set()

    async def decided(self) -> None:
        """Wait until it is known what became of it."""
        await self._decided.wait()


class TakenActions:
    """The newest actions of one client that were passed on."""

    def __init__(self) -> None:
        self._taken: dict[Hashable, TakenAction] = {}

    def take_up(self, id: str, likeness: tuple[str, int, int], *, again: bool) -> TakenAction:
        """Return an action, known if it was taken up before.

        ``id`` is what its front calls it, ``likeness`` its channel, its number and its content,
        by which it is known when another front passes it on (``again``). Number 0 is never
        compared: editors give it to everything that they do not track.
        """
        known = self._taken.get(id) if again else None
        if known is None and again and likeness[1]:
            known = self._taken.get(likeness)
        if known is not None and not known.is_elsewhere:
            known.is_known = True
            return known
        action = TakenAction()
        self._taken[id] = action
        if likeness[1]:
            self._taken[likeness] = action
        while len(self._taken) > MOST_TAKEN * 2:
            del self._taken[next(iter(self._taken))]
        return action
