"""The order of everything: sequence numbers, group commits, and what may leave after them.

Whatever the host tells a client passes through here, so nothing leaves before the state it speaks
of is durable, and everything leaves in the order in which it was decided. Knows neither channels
nor clients: it carries writes to the store and hands deliveries on once they are safe.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic

from typing_extensions import TypeVar

from agenthost.host.store import Store, StoreError, Write

if TYPE_CHECKING:
    from agenthost.host.log.deliveries import Delivery

# What is handed on: the ledger looks into none of it.
D = TypeVar("D", default="Delivery")

# Sequence numbers are reserved in blocks of this size, each with one synchronous disk write; a
# restart after a crash skips what is left of the block. The next block is reserved when half of
# one is left, which is far more than can be used while the disk writes.
RESERVED_BLOCK = 1 << 20


class _Settled:
    """A marker in the stream of deliveries: everything before it has been handed on."""

    __slots__ = ("future",)

    def __init__(self, future: asyncio.Future[None]) -> None:
        self.future = future


class Ledger(Generic[D]):
    """Hands out sequence numbers, batches writes per loop tick, releases deliveries in order."""

    # As how many actions an older version can be told one; None for as many as it takes.
    most_actions: int | None = None

    def __init__(
        self,
        store: Store,
        *,
        release: Callable[[Sequence[D]], None],
        on_failure: Callable[[StoreError], None],
    ) -> None:
        self._store = store
        # Receives deliveries, in order, once what they speak of is durable.
        self._hand_on = release
        self._on_failure = on_failure
        # The last sequence number that was handed out.
        self._seq = store.first_seq - 1
        # The number at which the next block is reserved, and that reservation, while under way.
        self._reserve_from = self._seq
        self._reserving: asyncio.Task[None] | None = None
        # What this tick has gathered.
        self._writes: list[Write] = []
        self._deliveries: list[D | _Settled] = []
        # Who has more to add to a commit, once it is known what else is in it.
        self._gatherers: list[Callable[[], None]] = []
        # Whether something will commit it, and whether that is the end of a batch.
        self._flush_scheduled = False
        self._in_batch = False
        # Set while deliveries are handed on: what those decide must come after them.
        self._releasing = False
        # Commits under way, oldest first: the commit, its size, what may leave after it.
        self._in_flight: deque[tuple[asyncio.Future[None], int, list[D | _Settled]]] = deque()
        # Writes that are not durable yet: the measure by which producers are slowed down.
        self._backlog = 0
        # Once the store has failed nothing is released any more.
        self.failure: StoreError | None = None

    @property
    def last_seq(self) -> int:
        """The newest sequence number that anything carries."""
        return self._seq

    @property
    def backlog(self) -> int:
        """How much cannot be read from the store yet: it slows producers down."""
        return self._backlog

    async def reach(self, seq: int = 0) -> bool:
        """Wait for all there is, and what somebody says to have seen; False where it may come.

        This ledger hands out all numbers itself, so that there is nothing to wait for.
        """
        return True

    async def open(self) -> None:
        """Reserve the first block of numbers; call it before anything else."""
        await self._reserve_block()

    async def close(self) -> None:
        """Make everything durable and give back the numbers that were not used."""
        await self.settle()
        if self._reserving is not None:
            await self._reserving
        await self._store.seal(self._seq)

    def take_seq(self, count: int = 1) -> int:
        """Hand out the next sequence number, or so many in a row, and return the last of them."""
        self._seq += count
        if self._seq > self._reserve_from and self._reserving is None:
            self._reserving = asyncio.create_task(self._reserve(), name="reserve")
        return self._seq

    async def _reserve(self) -> None:
        try:
            await self._reserve_block()
        except StoreError as error:
            self._fail(error)
        finally:
            self._reserving = None

    async def _reserve_block(self) -> None:
        await self._store.reserve(self._seq + RESERVED_BLOCK)
        self._reserve_from = self._store.reserved - RESERVED_BLOCK // 2

    def write(self, *writes: Write) -> None:
        """Add writes to this tick's commit."""
        self._writes.extend(writes)
        self._backlog += len(writes)
        if not self._flush_scheduled:
            self._schedule()

    def before_commit(self, add: Callable[[], None]) -> None:
        """Have something called before every commit, that may write and deliver more with it."""
        self._gatherers.append(add)

    def deliver(self, delivery: D | _Settled) -> None:
        """Hand ``delivery`` on once everything written so far is durable, in order of the calls."""
        self._deliveries.append(delivery)
        if not self._writes and not self._in_flight and not self._releasing:
            self._flush()
        elif not self._flush_scheduled:
            self._schedule()

    async def settle(self) -> None:
        """Wait until everything written so far is durable and handed on."""
        if self.failure is not None:
            raise self.failure
        future = asyncio.get_running_loop().create_future()
        self.deliver(_Settled(future))
        self._flush()
        await future

    def _schedule(self) -> None:
        self._flush_scheduled = True
        asyncio.get_running_loop().call_soon(self._flush)

    def begin_batch(self) -> None:
        """Gather what comes next until ``end_batch``, instead of until the end of the tick."""
        self._in_batch = not self._flush_scheduled
        self._flush_scheduled = True

    def end_batch(self) -> None:
        """Commit what was gathered at once: nothing else will come in this tick."""
        if self._in_batch:
            self._in_batch = False
            self._flush()

    def _flush(self) -> None:
        # What they add needs no commit of its own.
        self._flush_scheduled = True
        for add in self._gatherers:
            add()
        self._flush_scheduled = False
        writes, self._writes = self._writes, []
        deliveries, self._deliveries = self._deliveries, []
        if writes:
            self._commit(writes, deliveries)
        elif self._in_flight:
            self._in_flight[-1][2].extend(deliveries)
        elif deliveries:
            self._release(deliveries)

    def _commit(self, writes: list[Write], deliveries: list[D | _Settled]) -> None:
        try:
            commit = self._store.write(*writes)
        except StoreError as error:
            # What was decided cannot be stored, so nobody may hear of it or of what follows.
            self._backlog -= len(writes)
            self._fail(error)
            self._release(deliveries)
            return
        if commit.done() and not self._in_flight:
            # The store did it at once, which a stream's commits are for the most part.
            self._count_commit(commit, len(writes))
            if deliveries:
                self._release(deliveries)
            return
        self._in_flight.append((commit, len(writes), deliveries))
        if commit.done():
            self._committed(commit)
        else:
            commit.add_done_callback(self._committed)

    def _committed(self, _: asyncio.Future[None]) -> None:
        released: list[D | _Settled] = []
        while self._in_flight and self._in_flight[0][0].done():
            commit, size, deliveries = self._in_flight.popleft()
            self._count_commit(commit, size)
            released.extend(deliveries)
        if released:
            self._release(released)

    def _count_commit(self, commit: asyncio.Future[None], size: int) -> None:
        self._backlog -= size
        error = _failure_of(commit)
        if error is not None:
            self._fail(error)

    def _fail(self, error: StoreError) -> None:
        if self.failure is None:
            self.failure = error
            self._on_failure(error)

    def _release(self, deliveries: list[D | _Settled]) -> None:
        handed_on: list[D] = []
        settled: list[_Settled] = []
        for item in deliveries:
            if isinstance(item, _Settled):
                settled.append(item)
            else:
                handed_on.append(item)
        self._releasing = True
        try:
            if self.failure is None:
                self._hand_on(handed_on)
        finally:
            self._releasing = False
            for waiter in settled:
                if not waiter.future.done():
                    self._end_wait(waiter.future)

    def _end_wait(self, future: asyncio.Future[None]) -> None:
        if self.failure is None:
            future.set_result(None)
        else:
            future.set_exception(self.failure)


def _failure_of(commit: asyncio.Future[None]) -> StoreError | None:
    """Return why a commit that is over did not make its writes durable, if it did not."""
    if commit.cancelled():
        return StoreError("a commit was given up")
    error = commit.exception()
    return error if error is None or isinstance(error, StoreError) else StoreError(str(error))
