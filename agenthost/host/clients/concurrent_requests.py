"""Requests that are carried out beside the reading of a connection's messages.

What may take its time (files, processes, git, another client's answer) must not keep the client's
next message waiting, its ping least of all. Such requests run as tasks of their connection and end
with it. There are only so many at once; then the connection is not read until one is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextvars import ContextVar

from agenthost.protocol.jsonrpc import Request
from agenthost.protocol.methods import METHODS, Beside
from agenthost.protocol.peer import is_side_channel
from agenthost.protocol.uris import content_uri

log = logging.getLogger(__name__)

# Seconds between two looks at whether the client of a connection that is not read is still there.
LOOK_SECONDS = 0.25
# Seconds that work gets to end once its client has left.
END_SECONDS = 5.0


# What the host itself keeps in order; any other URI is for a client to look up.
_OWN_SCHEMES = frozenset({"file", "git-blob", content_uri("").partition(":")[0]})


def lane_of(request: Request) -> Beside:
    """Say how a request is carried out: what another client must answer waits for nothing else."""
    if is_side_channel(request):
        return Beside.FREE
    lane = METHODS[request.method].beside
    uri = request.params.get("uri", "")
    if lane is Beside.IN_ORDER and isinstance(uri, str) and ":" in uri:
        return lane if uri.partition(":")[0].lower() in _OWN_SCHEMES else Beside.FREE
    return lane


class BesideTasks:
    """The requests of one connection that are being carried out beside it."""

    def __init__(self, name: str, most: int, has_left: Callable[[], bool]) -> None:
        self._name = name
        self._most = most
        self._has_left = has_left
        self._tasks: set[asyncio.Task[None]] = set()
        # How many of them have something to do other than to wait for a client.
        self._busy = 0
        self._room = asyncio.Event()
        # Held by the one request of its lane that is being carried out; others wait in order.
        self._in_order = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._tasks)

    async def start(self, lane: Beside, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Carry out a request once there is room for it; nothing for a client that has left."""
        while self._busy >= self._most and not self._has_left():
            self._room.clear()
            # Not by `wait_for`: on Python 3.11 it loses a cancel that comes together with room.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._room.wait()
        if self._has_left():
            return
        # Counted from now on, or many would be started before the first of them runs.
        place = _Place(self)
        task = asyncio.create_task(self._run(lane, work, place), name=f"beside {self._name}")
        self._tasks.add(task)
        task.add_done_callback(lambda _: self._ended(task, place))

    async def _run(
        self, lane: Beside, work: Callable[[], Coroutine[None, None, None]], place: _Place
    ) -> None:
        _place.set(place)
        async with self._in_order if lane is Beside.IN_ORDER else contextlib.nullcontext():
            await work()

    def _ended(self, task: asyncio.Task[None], place: _Place) -> None:
        self._tasks.discard(task)
        place.leave()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("%s: a request failed", self._name, exc_info=error)

    def count(self, change: int) -> None:
        """Take note of one more, or one less, that has something to do."""
        self._busy += change
        if self._busy < self._most:
            self._room.set()

    async def finish(self, seconds: float) -> None:
        """Wait for what is under way, for so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def close(self) -> None:
        """Cancel what is under way and wait for it."""
        for task in self._tasks:
            task.cancel()
        await self.finish(END_SECONDS)
        if self._tasks:
            log.error("%s: %d requests do not end", self._name, len(self._tasks))


class _Place:
    """One request's place among those that a connection may have under way."""

    def __init__(self, tasks: BesideTasks) -> None:
        self._tasks: BesideTasks | None = tasks
        # Waits for clients that go on inside of it.
        self._waits = 0
        tasks.count(+1)

    def wait(self, change: int) -> None:
        """Give the place to another while this one waits for a client."""
        waited, self._waits = self._waits > 0, self._waits + change
        if self._tasks is not None and waited != (self._waits > 0):
            self._tasks.count(+1 if waited else -1)

    def leave(self) -> None:
        """Give the place up."""
        if self._tasks is not None and not self._waits:
            self._tasks.count(-1)
        self._tasks = None


_place: ContextVar[_Place | None] = ContextVar("the request's place", default=None)


@contextlib.contextmanager
def waiting_for_a_client() -> Iterator[None]:
    """Give way to other requests meanwhile.

    The answer comes by a connection that is read only while there is room, and may be this one's.
    """
    place = _place.get()
    if place is None:
        yield
        return
    place.wait(+1)
    try:
        yield
    finally:
        place.wait(-1)
