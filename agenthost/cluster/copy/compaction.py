"""Snapshots of the copy's own: a channel's long tail becomes a state, and its old log goes.

Snapshots do not travel, so every copy makes its own, in the background and in slices that give way
to everybody else. Which entries a state holds follows from the log alone, so that it does not
matter that each node makes them at another point.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from agenthost.cluster.copy.store import CopyStore
from agenthost.cluster.numbers import number
from agenthost.host.log.channel import LiveChannel
from agenthost.host.log.directory import REPLAY_BYTES, REPLAY_WINDOW
from agenthost.host.log.kind import ChannelKind
from agenthost.host.log.stored_values import stored_value
from agenthost.host.log.writer import ENTRY_OVERHEAD
from agenthost.host.store import SaveSnapshot, StoredChannel, TrimLog
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.reducer_registry import Kind

# A tail shorter than this, or than its snapshot, is read back soon enough.
SMALLEST_TAIL = 256 * 1024
# A tail that is longer makes the feed wait: it is read into memory to be folded.
LONGEST_TAIL = 16 * 1024 * 1024
# Seconds of work at a time, and of rest after it.
SLICE, REST = 0.003, 0.003

log = logging.getLogger(__name__)


class _FoldedKind(ChannelKind[Any]):
    """A kind of which only the reducers matter."""

    def __init__(self, name: str) -> None:
        self.name = cast("Kind", name)


@dataclass(slots=True)
class _Tail:
    # Bytes of log since the snapshot, and since the log was last cut to a length.
    length: int = 0
    untrimmed: int = REPLAY_BYTES
    # The snapshot's length, as far as it is known.
    state: int = 0


class Compactor:
    """Makes snapshots of channels whose tails have become long; ``run`` does the work."""

    def __init__(
        self,
        store: CopyStore,
        position: Callable[[], int],
        reached: Callable[[int], Awaitable[None]],
    ) -> None:
        """``position`` is the last message taken; ``reached`` waits until one can be read."""
        self._store = store
        self._position = position
        self._reached = reached
        self._tails: dict[str, _Tail] = {}
        # Channels whose turn it is, oldest first.
        self._due: dict[str, None] = {}
        self._some_due = asyncio.Event()
        # The channel at work, unless it was dropped meanwhile: then its state is nobody's.
        self._at_work: str | None = None
        # Set unless a tail is too long.
        self._has_room = asyncio.Event()
        self._has_room.set()

    def appended(self, channel: str, length: int) -> None:
        """Take note of an entry."""
        tail = self._tails.get(channel)
        if tail is None:
            tail = self._tails[channel] = _Tail()
        tail.length += length + ENTRY_OVERHEAD
        if tail.length > SMALLEST_TAIL and tail.length > tail.state:
            self._due[channel] = None
            self._some_due.set()
            if tail.length > max(LONGEST_TAIL, 2 * tail.state):
                self._has_room.clear()

    def dropped(self, channel: str) -> None:
        """Take note that a channel is gone."""
        self._tails.pop(channel, None)
        self._due.pop(channel, None)
        if channel == self._at_work:
            self._at_work = None

    async def room(self) -> None:
        """Wait while a tail is so long that folding it would take too much memory."""
        if not self._has_room.is_set():
            await self._has_room.wait()

    async def run(self) -> None:
        """Compact for ever; raises StoreError once nothing can be written any more."""
        for channel, length in (await self._store.long_tails(SMALLEST_TAIL)).items():
            self.appended(channel, length)
        while True:
            await self._some_due.wait()
            while self._due:
                channel = next(iter(self._due))
                del self._due[channel]
                await self._attempt(channel)
            self._some_due.clear()
            self._has_room.set()

    async def _attempt(self, channel: str) -> None:
        self._at_work = channel
        try:
            await self._compact(channel)
        except Exception as error:
            if self._store.failure is not None:
                raise
            # The entries stay, and whoever needs the channel is told.
            log.error("%s cannot be compacted: %s", ascii(channel), error)
            self._tails[channel] = _Tail()
        finally:
            self._at_work = None

    async def _compact(self, channel: str) -> None:
        tail = self._tails.get(channel)
        counted = tail.length if tail is not None else 0
        # What was counted has been taken from the feed, and may not be readable yet.
        await self._reached(self._position())
        stored = await self._store.load_channel(channel)
        tail = self._tails.get(channel)
        if stored is None or not stored.tail or tail is None:
            return
        length = sum(len(entry.action) + ENTRY_OVERHEAD for entry in stored.tail)
        tail.state = len(stored.state)
        if length <= max(SMALLEST_TAIL, tail.state):
            # It was counted twice, or its state was not known to be that long.
            tail.length -= max(0, counted - length)
            return
        state = await _folded(channel, stored)
        # Behind a drop it would bring the channel back.
        if self._at_work != channel:
            return
        tail.untrimmed += length
        tail.length = max(0, tail.length - length)
        tail.state = len(state)
        keep_bytes = None
        if tail.untrimmed > REPLAY_BYTES // 4:
            # Going through the log to measure it is worth it once in a while.
            keep_bytes, tail.untrimmed = REPLAY_BYTES, 0
        last = stored.tail[-1].seq
        horizon = number(max(0, self._position() - REPLAY_WINDOW), 0)
        await self._store.put(
            SaveSnapshot(channel, stored.kind, last, state),
            TrimLog(channel, min(last, horizon), keep_bytes),
        )


async def _folded(uri: str, stored: StoredChannel) -> bytes:
    """Return the state after a channel's tail, as the reducers make it."""
    kind = _FoldedKind(stored.kind)
    channel = LiveChannel[Any](uri, kind, stored_value(stored.state, uri), seq=stored.seq)
    begun = time.perf_counter()
    for entry in stored.tail:
        channel.apply(stored_value(entry.action, uri), entry.now)
        if time.perf_counter() - begun > SLICE:
            await asyncio.sleep(REST)
            begun = time.perf_counter()
    return dumps(channel.state)
