"""Appending to the units that a node owns: one message in flight for each, the rest gathers.

What gathers behind a message goes with the next one. What must be stored in several units or in
none waits until it is at the head of all of them, and goes as one atomic batch. Knows nothing of
what is written.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agenthost.cluster.commits import Commit, RealmWrite, encode_commit

# Writes that one message takes from the queue, so that what waits is not held up by what came
# later. A larger unit of write goes whole all the same.
MOST_GATHERED = 250
LARGEST_GATHERED = 256 * 1024


class Appending(Protocol):
    """Appends to the realm's stream; see ``cluster.realm.Appender``."""

    async def append(
        self, unit: str, bodies: Sequence[bytes], commit_id: str, expected: int | None
    ) -> int:
        """Append messages to a unit, and return the place of the last."""
        ...

    async def append_together(
        self, parts: Sequence[tuple[str, Sequence[bytes], int | None]], commit_id: str
    ) -> int:
        """Append messages to several units, all or none, and return the place of the last."""
        ...


class CommitIds:
    """Names for commits, which no other run of any node gives."""

    def __init__(self, node: str) -> None:
        self._run = f"{node}.{uuid.uuid4().hex[:12]}"
        self._count = itertools.count(1)

    def next(self) -> str:
        """Return another name."""
        return f"{self._run}.{next(self._count)}"


@dataclass(slots=True)
class _Part:
    """What a unit of write has for one unit."""

    writes: Sequence[RealmWrite]
    stored: asyncio.Future[int]
    # Set where it goes together with parts for other units.
    batch: _Batch | None = None


@dataclass(slots=True)
class _Batch:
    """Parts for several units, which go together once each is the first of its queue."""

    waiting: dict[UnitQueue, _Part]
    stored: asyncio.Future[int]
    ready: int = 0


class UnitQueue:
    """What is to be appended to one unit, in order."""

    def __init__(self, appends: Appends, unit: str, last: int | None) -> None:
        self._appends = appends
        self.unit = unit
        # Where the unit's last message lies; None where nobody asks.
        self.last = last
        self._parts: deque[_Part] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether everything that was put here is stored."""
        return self._task is None

    def put(self, part: _Part) -> None:
        """Append this after all that was put here before."""
        self._parts.append(part)
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name=f"append to {self.unit}")

    def cancel(self) -> asyncio.Task[None] | None:
        """Append nothing more, and return what may still be under way."""
        self._parts.clear()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        return self._task

    async def _work(self) -> None:
        try:
            while self._parts:
                if self._parts[0].batch is not None:
                    await self._appends.together(self._parts.popleft().batch)
                else:
                    await self._append(self._take())
        except Exception as error:
            self._appends.failed(self.unit, error)
        finally:
            self._task = None

    def _take(self) -> list[_Part]:
        taken = [self._parts.popleft()]
        count, size = _weigh(taken[0])
        while self._parts and self._parts[0].batch is None:
            more, longer = _weigh(self._parts[0])
            count, size = count + more, size + longer
            if count > MOST_GATHERED or size > LARGEST_GATHERED:
                break
            taken.append(self._parts.popleft())
        return taken

    async def _append(self, parts: Sequence[_Part]) -> None:
        id, bodies = self._appends.encode(self.unit, [w for part in parts for w in part.writes])
        stored = await self._appends.appender.append(self.unit, bodies, id, self.last)
        if self.last is not None:
            self.last = stored
        for part in parts:
            if not part.stored.done():
                part.stored.set_result(stored)


class Appends:
    """The queues of all units that something is appended to."""

    def __init__(
        self, appender: Appending, node: str, on_failure: Callable[[str, Exception], None]
    ) -> None:
        self.appender = appender
        self._node = node
        self.ids = CommitIds(node)
        self.failed = on_failure
        self._queues: dict[str, UnitQueue] = {}

    def open(self, unit: str, last: int | None) -> None:
        """Begin to append to a unit whose last message lies there; None where nobody asks."""
        self._queues[unit] = UnitQueue(self, unit, last)

    def close(self, unit: str) -> None:
        """Append no more to a unit; all that was is stored."""
        self._queues.pop(unit, None)

    def is_idle(self, unit: str) -> bool:
        """Say whether nothing is on its way to a unit."""
        queue = self._queues.get(unit)
        return queue is None or queue.is_idle

    def cancel(self) -> set[asyncio.Task[None]]:
        """Append nothing more anywhere, and return what may still be under way."""
        tasks = {queue.cancel() for queue in self._queues.values()}
        return {task for task in tasks if task is not None}

    async def end(self) -> None:
        """Wait until nothing is under way any more."""
        # More than once: on Python 3.11 `wait_for`, by which nats-py waits, loses a cancel that
        # comes together with an answer.
        while tasks := self.cancel():
            await asyncio.wait(tasks, timeout=0.2)

    def put(self, unit: str, writes: Sequence[RealmWrite]) -> asyncio.Future[int]:
        """Append writes to a unit; the future has the place of the message they went with."""
        stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._queues[unit].put(_Part(writes, stored))
        return stored

    def put_together(self, parts: Mapping[str, Sequence[RealmWrite]]) -> asyncio.Future[int]:
        """Append writes to several units, to all or to none."""
        stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        batch = _Batch({}, stored)
        for unit, writes in parts.items():
            batch.waiting[self._queues[unit]] = _Part(writes, stored, batch)
        # All at once, so that two batches are in the same order in all queues they share.
        for queue, part in batch.waiting.items():
            queue.put(part)
        return stored

    def encode(self, unit: str, writes: Sequence[RealmWrite]) -> tuple[str, list[bytes]]:
        """Return the name of a new commit and its messages."""
        id = self.ids.next()
        return id, encode_commit(Commit(id, unit, self._node, tuple(writes)))

    async def together(self, batch: _Batch | None) -> None:
        """Wait until a batch is the first of all its queues, and append it."""
        assert batch is not None
        batch.ready += 1
        if batch.ready < len(batch.waiting):
            await asyncio.wait([batch.stored])
            return
        id = self.ids.next()
        parts: list[tuple[str, list[bytes], int | None]] = []
        for queue, part in batch.waiting.items():
            commit = Commit(id, queue.unit, self._node, tuple(part.writes))
            parts.append((queue.unit, encode_commit(commit), queue.last))
        last = await self.appender.append_together(parts, id)
        # A batch lies in the stream without anything in between.
        at = last
        for queue, (_, bodies, expected) in reversed(list(zip(batch.waiting, parts, strict=True))):
            if expected is not None:
                queue.last = at
            at -= len(bodies)
        if not batch.stored.done():
            batch.stored.set_result(last)


def _weigh(part: _Part) -> tuple[int, int]:
    """Return how many writes a part has, and about how many bytes."""
    size = 0
    for write in part.writes:
        for name in ("action", "state", "data", "value", "summary", "params"):
            size += len(getattr(write, name, b""))
    return len(part.writes), size
