"""The thread that commits writes in groups: all that waits in its queue, in one commit.

Owns the order of units, group commit, and what happens after a failure. It does not know SQLite;
the ``Backend`` does the blocking work, in this thread from opening to closing.

The event loop pays little: what is submitted within one tick goes to the thread in one piece, and
each commit comes back in one call, however many units it held. A few log entries while the thread
has nothing to do are committed by the loop itself: that takes a fraction of the time that waking
the thread and being woken by it would take.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from agenthost.host.store.contract import Append, StoreError, StoreMisuse
from agenthost.host.store.sequence import QueuedWrite
from agenthost.host.store.thread_starvation import StarvationGuard

# A commit takes no more writes than this, so that under a long backlog the first units are
# acknowledged within milliseconds and not after the last.
WRITES_PER_COMMIT = 1024

# What the loop commits itself: so few entries, of so many bytes together, and every so often none,
# because tidying up is the thread's.
FEW_ENTRIES, FEW_BYTES = 8, 16 * 1024
COMMITS_BEFORE_TIDYING = 256
# Commits that follow each other more closely than this, in seconds, are the thread's: while it
# writes, more gathers for the next one.
PAUSE = 0.0005
# A commit that took the loop this long says that the disk, or the machine, is slow. Then commits
# are the thread's for a while: longer each time, and less so with each quick one. In seconds.
SLOW_COMMIT = 0.02
SHORTEST_WHILE, LONGEST_WHILE = 0.1, 30.0
LONGER, SHORTER = 4.0, 0.99


class Backend(Protocol):
    """Storage that blocks; used by one thread at a time."""

    @property
    def is_quick(self) -> bool:
        """Whether a small commit does not wait for the disk."""
        ...

    def commit(self, writes: Sequence[QueuedWrite], *, synced: bool) -> None:
        """Store the writes together; ``synced`` asks for durability against power loss."""
        ...

    def tidy(self) -> None:
        """Do what is better done after the acknowledgement than before it."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


BackendT = TypeVar("BackendT", bound=Backend)


class Unit(Struct):
    """Writes that are stored together or not at all."""

    writes: Sequence[QueuedWrite]
    done: asyncio.Future[None]
    synced: bool


class WriterThread(Generic[BackendT]):
    """The event loop's side of the thread; every method belongs to the loop that made it."""

    def __init__(self, open_backend: Callable[[], BackendT], guard: StarvationGuard) -> None:
        self._loop = asyncio.get_running_loop()
        self._open_backend = open_backend
        self._guard = guard
        # Units submitted in this tick of the loop.
        self._tick: list[Unit] = []
        # Ticks on their way to the thread; ``None`` ends it.
        self._queue: queue.SimpleQueue[list[Unit] | None] = queue.SimpleQueue()
        # Units submitted and not settled.
        self.pending = 0
        # Held by whoever uses the backend.
        self._using = threading.Lock()
        # The open backend, where the loop may commit to it, how often it did since the thread last
        # tidied up, and from when on it may do so again.
        self._quick: BackendT | None = None
        self._since_tidying = 0
        self._not_before = 0.0
        self._while = SHORTEST_WHILE
        # What all share who wait for what the loop has stored already.
        self._stored: asyncio.Future[None] = self._loop.create_future()
        self._stored.set_result(None)
        # The first failure; after it nothing is stored any more.
        self.failure: StoreError | None = None
        # Set once no more units are taken.
        self._stopping = False
        self._opened: asyncio.Future[BackendT] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        # A daemon, so that a host that dies without closing can end.
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)

    async def start(self) -> BackendT:
        """Open the backend in the thread and return it.

        Raises:
            StoreError: it cannot be opened.
        """
        self._thread.start()
        try:
            backend = await self._opened
        except asyncio.CancelledError:
            self._queue.put(None)
            raise
        self._quick = backend if backend.is_quick else None
        return backend

    def submit(
        self, writes: Sequence[QueuedWrite], *, synced: bool = False
    ) -> asyncio.Future[None]:
        """Queue a unit; the future ends when it is stored, or raises ``StoreError``.

        Raises:
            StoreMisuse: the writer was stopped.
        """
        if self._stopping:
            raise StoreMisuse("the store is not open")
        if self.failure is None and not self.pending and not synced and self._commit_here(writes):
            return self._stored
        done: asyncio.Future[None] = self._loop.create_future()
        if self.failure is not None:
            done.set_exception(_again(self.failure))
            return done
        self.pending += 1
        if not self._tick:
            self._loop.call_soon(self._hand_over)
        self._tick.append(Unit(writes, done, synced))
        return done

    async def stop(self) -> None:
        """Commit what is queued, close the backend and end the thread.

        Raises:
            StoreError: something could not be stored, now or earlier.
        """
        self._stopping = True
        self._hand_over()
        self._queue.put(None)
        # The thread closes the backend even if nobody waits for it any more.
        await asyncio.shield(self._closed)
        self._thread.join()
        if self.failure is not None:
            raise _again(self.failure)

    def _commit_here(self, writes: Sequence[QueuedWrite]) -> bool:
        """Commit a few entries in the loop's own thread.

        False when that failed, or when they are the other thread's. Only while nothing is pending:
        another unit that is not stored yet must come first.
        """
        if self._quick is None or not _are_few(writes):
            return False
        start = monotonic()
        if self._since_tidying >= COMMITS_BEFORE_TIDYING or start < self._not_before:
            return False
        if not self._using.acquire(blocking=False):
            return False
        try:
            self.failure = _commit(self._quick, writes, synced=False)
        finally:
            self._using.release()
        self._since_tidying += 1
        if (now := monotonic()) > start + SLOW_COMMIT:
            self._not_before = now + self._while
            self._while = min(LONGEST_WHILE, self._while * LONGER)
        else:
            self._not_before = now + PAUSE
            self._while = max(SHORTEST_WHILE, self._while * SHORTER)
        return self.failure is None

    def _hand_over(self) -> None:
        if self._tick:
            self._since_tidying = 0
            self._guard.begin(len(self._tick))
            self._queue.put(self._tick)
            self._tick = []

    def _settle(self, units: list[Unit], error: StoreError | None) -> None:
        self._guard.end(len(units))
        self._not_before = max(self._not_before, monotonic() + PAUSE)
        self.pending -= len(units)
        for unit in units:
            self._end(unit.done, error)

    def _end(self, done: asyncio.Future[None], error: StoreError | None) -> None:
        if error is not None and self.failure is None:
            self.failure = error
        # Done already if whoever waited for it was cancelled.
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(_again(error))

    # From here on: the thread.

    def _run(self) -> None:
        try:
            backend = self._open_backend()
        except Exception as error:
            self._call_loop(_end, self._opened, None, _as_store_error(error))
            return
        self._call_loop(_end, self._opened, backend, None)
        failure = self._serve(backend)
        # Closed after a failure too, but what the first failure was matters more.
        close_failure = _attempt(backend.close)
        self._call_loop(_end, self._closed, None, failure or close_failure)

    def _serve(self, backend: BackendT) -> StoreError | None:
        backlog: deque[Unit] = deque()
        failure: StoreError | None = None
        while self._fill(backlog):
            units = _take(backlog)
            if failure is None:
                writes = [write for unit in units for write in unit.writes]
                synced = any(unit.synced for unit in units)
                with self._using:
                    failure = _commit(backend, writes, synced=synced)
            if not self._call_loop(self._settle, units, failure):
                break
            if failure is None:
                with self._using:
                    failure = _attempt(backend.tidy)
        return failure

    def _fill(self, backlog: deque[Unit]) -> bool:
        """Collect what waits; block if there is nothing. False when all is done."""
        while len(backlog) < WRITES_PER_COMMIT:
            try:
                tick = self._queue.get(block=not backlog)
            except queue.Empty:
                break
            if tick is None:
                # Seen again once the backlog is empty.
                self._queue.put(None)
                break
            backlog.extend(tick)
        return bool(backlog)

    def _call_loop(self, function: Callable[..., None], *args: object) -> bool:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            # The loop is closed: its owner is gone without closing the store.
            return False
        return True


def _are_few(writes: Sequence[QueuedWrite]) -> bool:
    if not 0 < len(writes) <= FEW_ENTRIES:
        return False
    size = 0
    for write in writes:
        if not isinstance(write, Append):
            return False
        size += len(write.action)
    return size <= FEW_BYTES


def _take(backlog: deque[Unit]) -> list[Unit]:
    units: list[Unit] = []
    count = 0
    while backlog and (not units or count + len(backlog[0].writes) <= WRITES_PER_COMMIT):
        unit = backlog.popleft()
        units.append(unit)
        count += len(unit.writes)
    return units


def _commit(backend: Backend, writes: Sequence[QueuedWrite], *, synced: bool) -> StoreError | None:
    # A barrier alone has nothing to store.
    if not writes:
        return None
    try:
        backend.commit(writes, synced=synced)
    except Exception as error:
        return _as_store_error(error)
    return None


def _attempt(action: Callable[[], None]) -> StoreError | None:
    try:
        action()
    except Exception as error:
        return _as_store_error(error)
    return None


def _as_store_error(error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    wrapped = StoreError(f"the store failed: {error!r}")
    wrapped.__cause__ = error
    return wrapped


def _again(error: StoreError) -> StoreError:
    """Return a fresh copy: one exception raised in many places would gather all their traces."""
    copy = type(error)(*error.args)
    copy.__cause__ = error
    return copy


def _end(future: asyncio.Future[object], result: object, error: StoreError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
