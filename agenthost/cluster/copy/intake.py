"""How what the feed brings gets into the file: many messages to a transaction when it is fast.

While one transaction is written the next one gathers, so the faster the feed, the larger they
become. Each stores the position that it leads to, so a killed node goes on right there.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Protocol

from agenthost.cluster.commits import Own, RealmWrite, Room, Tell
from agenthost.cluster.copy.store import CopyStore
from agenthost.errors import AgentHostError
from agenthost.host.store import Append, PutBlob, PutRecord, SaveSnapshot, TrimLog, Write

# What is kept about the copy itself.
ABOUT, POSITION, STREAM = "@copy", "position", "stream"
# Bytes that may gather while a transaction is written; with more the feed waits.
MOST_GATHERED = 4 * 1024 * 1024
# What a write takes besides its content.
OVERHEAD = 200


class KeptBook(Protocol):
    """What is known of the log beside its content."""

    def changes(self) -> Iterable[Write]:
        """Return the writes that store what changed since the last call."""
        ...


class Intake:
    """Writes to the store in order, and knows how far what can be read there goes."""

    def __init__(
        self,
        store: CopyStore,
        books: Sequence[KeptBook],
        fail: Callable[[Exception], None],
    ) -> None:
        """``books`` have more to store with what they follow from."""
        self._store = store
        self._books = books
        self._fail = fail
        # The last message that can be read from the store, and the last one that was taken.
        self.stored = 0
        self._taken = 0
        self._gathered: list[Write] = []
        self._size = 0
        self._scheduled = False
        self._in_flight: asyncio.Future[None] | None = None
        # Who waits for which position; the count keeps futures from being compared.
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._counted = count()

    def begin_at(self, position: int) -> None:
        """Go on from a file, just opened, that leads up to a message."""
        self.stored = self._taken = position
        self._gathered, self._size = [], 0
        self._release()

    def take(self, position: int, writes: Sequence[tuple[int, RealmWrite]]) -> None:
        """Have the writes of a message stored, soon."""
        for _, write in writes:
            # Logs are trimmed here as this copy sees fit.
            if not isinstance(write, Own | Tell | Room | TrimLog):
                self._gathered.append(write)
                self._size += OVERHEAD + _length(write)
        self._taken = position

    def flush(self) -> None:
        """Write what has gathered, at the end of this tick or after what is being written."""
        if not self._scheduled and self._in_flight is None:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._write)

    async def room(self) -> None:
        """Wait while more has gathered than memory should hold."""
        while self._size > MOST_GATHERED and self._in_flight is not None:
            await asyncio.wait([self._in_flight])
            # What follows it is written from a callback of its own.
            await asyncio.sleep(0)

    async def reached(self, position: int) -> None:
        """Wait until a message can be read from the store."""
        if self.stored >= position:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (position, next(self._counted), waiter))
        await waiter

    async def settle(self) -> None:
        """Wait until everything that was taken is stored."""
        await self.reached(self._taken)

    def give_up(self, error: AgentHostError) -> None:
        """Tell all who wait that what they wait for does not come."""
        waiting, self._waiting = self._waiting, []
        for _, _, waiter in waiting:
            if not waiter.done():
                waiter.set_exception(type(error)(*error.args))

    def _write(self) -> None:
        self._scheduled = False
        if self._taken == self.stored:
            return
        position = self._taken
        writes, self._gathered, self._size = self._gathered, [], 0
        for book in self._books:
            writes += book.changes()
        writes.append(PutRecord(ABOUT, POSITION, str(position).encode()))
        try:
            self._in_flight = self._store.put(*writes)
        except AgentHostError as error:
            self._fail(error)
            return
        self._in_flight.add_done_callback(lambda done: self._written(done, position))

    def _written(self, done: asyncio.Future[None], position: int) -> None:
        self._in_flight = None
        if done.cancelled():
            return
        error = done.exception()
        if error is not None:
            self._fail(error if isinstance(error, Exception) else RuntimeError(str(error)))
            return
        self.stored = position
        self._release()
        self._write()

    def _release(self) -> None:
        """Let those go on who waited for what can be read now."""
        while self._waiting and self._waiting[0][0] <= self.stored:
            waiter = heapq.heappop(self._waiting)[2]
            if not waiter.done():
                waiter.set_result(None)


def _length(write: Write) -> int:
    match write:
        case Append():
            return len(write.action)
        case SaveSnapshot():
            return len(write.state)
        case PutBlob():
            return len(write.data)
        case PutRecord():
            return len(write.value)
    return 0
