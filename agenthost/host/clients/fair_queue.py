"""Fair scheduling of incoming messages: whose is handled next when there are very many.

Messages are handled as they come until that has taken some milliseconds of one round of the loop.
Then the rest wait for the next rounds, in which principals take turns: one that floods the host
from hundreds of connections delays its own messages and hardly those of others.
"""

from __future__ import annotations

import asyncio
from collections import deque

# Seconds of one round of the event loop that may go by before messages wait for the next.
ROUND_SECONDS = 0.01
# Messages that are let on in the first round with any that wait, and later in one at most, when
# they take next to no time.
FIRST_LET_ON, MOST_LET_ON = 8, 64


class FairQueue:
    """Spreads the handling of messages over rounds of the event loop."""

    def __init__(self) -> None:
        # Principal -> its messages that wait, oldest first; whose turn it is comes first.
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        # When this round began, and whether the next one will be noticed.
        self._began = 0.0
        self._scheduled = False
        # How many to let on in a round: what fits into it, as far as earlier ones tell.
        self._let_on = FIRST_LET_ON

    async def turn(self, principal: str) -> None:
        """Wait until a message of that principal's may be handled."""
        loop = asyncio.get_running_loop()
        if not self._scheduled:
            self._began = loop.time()
            self._schedule(loop)
        elif self._queues or loop.time() - self._began > ROUND_SECONDS:
            future = loop.create_future()
            self._queues.setdefault(principal, deque()).append(future)
            await future

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = True
        loop.call_soon(self._next_round, loop)

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduled = False
        took, self._began = loop.time() - self._began, loop.time()
        if took > ROUND_SECONDS:
            self._let_on = max(1, self._let_on // 2)
        else:
            self._let_on = min(MOST_LET_ON, self._let_on * 2)
        if self._queues:
            self._schedule(loop)
        for _ in range(self._let_on):
            if not self._queues:
                break
            principal = next(iter(self._queues))
            queue = self._queues.pop(principal)
            future = queue.popleft()
            if queue:
                self._queues[principal] = queue
            if not future.done():
                future.set_result(None)
