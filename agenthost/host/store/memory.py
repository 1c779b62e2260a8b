"""A store in memory: the same contract without files, for tests and for hosts that keep nothing.

What is stored lives in a ``MemoryBacking``, which outlives the store on top of it, so that a test
can end a store cleanly or by ``MemoryBacking.crash`` and open another one, as a restart does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from itertools import accumulate
from types import TracebackType
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from agenthost.host.store.contract import (
    Append,
    Blob,
    DropBlobs,
    DropChannel,
    DropRecord,
    DropSession,
    MoveBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    SaveSnapshot,
    SessionPage,
    StoreBusy,
    StoredChannel,
    StoreError,
    StoreMisuse,
    TrimLog,
    WholeChannel,
    Write,
)
from agenthost.host.store.cursors import decode_cursor, encode_cursor
from agenthost.host.store.sequence import (
    NumberedStore,
    Opening,
    QueuedWrite,
    Reserve,
    Seal,
    Sequencer,
    plan_opening,
)


class _StoredLog(Struct):
    """One channel's log and snapshot."""

    trimmed_through: int
    log: list[Append] = field(default_factory=list)
    snapshot: SaveSnapshot | None = None
    # The snapshot before that one.
    earlier: SaveSnapshot | None = None


class MemoryBacking:
    """What a memory store has stored; it survives the store."""

    def __init__(self) -> None:
        self.channels: dict[str, _StoredLog] = {}
        # Session to sort key and summary.
        self.sessions: dict[str, tuple[str, bytes]] = {}
        self.blobs: dict[str, Blob] = {}
        self.records: dict[str, dict[str, bytes]] = {}
        self.reserved = 0
        # The last number known to be used: an entry's or a seal's.
        self.used = 0
        self.gaps: tuple[tuple[int, int], ...] = ()
        # The store that may write here now.
        self.owner: MemoryStore | None = None
        # What the next commit fails with, as a full disk would make it.
        self.fail_with: StoreError | None = None

    def crash(self) -> None:
        """Cut off the store that is open, as if its process had been killed."""
        self.owner = None

    def begin_run(self) -> Opening:
        """Find out where numbering goes on, and record the gap that the last run left."""
        opening = plan_opening(self.reserved, self.used, self.gaps)
        self.gaps = opening.gaps
        return opening

    def apply(self, write: QueuedWrite) -> None:
        """Carry out one write."""
        match write:
            case Append():
                self.used = max(self.used, write.seq)
                self._channel(write.channel, begins_after=write.seq - 1).log.append(write)
            case SaveSnapshot():
                channel = self._channel(write.channel, begins_after=write.seq)
                last = channel.snapshot
                if last is None or last.seq <= write.seq:
                    channel.snapshot = write
                    if last is not None and last.seq < write.seq:
                        channel.earlier = last
            case DropChannel():
                self.channels.pop(write.channel, None)
            case TrimLog():
                self._trim(write)
            case PutSession():
                self.sessions[write.session] = (write.sort_key, write.summary)
            case DropSession():
                self.sessions.pop(write.session, None)
            case PutBlob():
                self.blobs[write.uri] = Blob(write.owner, write.content_type, write.data)
            case DropBlobs():
                kept = {u: blob for u, blob in self.blobs.items() if blob.owner != write.owner}
                self.blobs = kept
            case MoveBlobs():
                for uri, blob in self.blobs.items():
                    if blob.owner == write.owner and write.uri in (None, uri):
                        self.blobs[uri] = replace(blob, owner=write.new_owner)
            case PutRecord():
                self.records.setdefault(write.bucket, {})[write.key] = write.value
            case DropRecord():
                self.records.get(write.bucket, {}).pop(write.key, None)
            case Reserve():
                self.reserved = write.through
            case Seal():
                self.used = self.reserved = write.last_used

    def _channel(self, uri: str, *, begins_after: int) -> _StoredLog:
        return self.channels.setdefault(uri, _StoredLog(begins_after))

    def _trim(self, write: TrimLog) -> None:
        channel = self.channels.get(write.channel)
        if channel is None or channel.snapshot is None:
            return
        through = write.through
        if write.keep_bytes is not None:
            sizes = accumulate(len(entry.action) for entry in reversed(channel.log))
            kept = sum(size <= write.keep_bytes for size in sizes)
            through = max(
                [through, *(entry.seq for entry in channel.log[: len(channel.log) - kept])]
            )
        through = min(through, channel.snapshot.seq)
        earlier = channel.earlier
        if earlier is not None and any(earlier.seq < e.seq <= through for e in channel.log):
            channel.earlier = None
        channel.log = [entry for entry in channel.log if entry.seq > through]
        channel.trimmed_through = max(channel.trimmed_through, through)


class MemoryStore(NumberedStore):
    """A ``Store`` on a ``MemoryBacking``; without one it starts empty and keeps nothing."""

    def __init__(self, backing: MemoryBacking | None = None) -> None:
        self._backing = backing if backing is not None else MemoryBacking()
        # ``None`` until the store is opened.
        self._sequencer: Sequencer | None = None
        # Units of this tick of the event loop, committed together at its end.
        self._queue: list[tuple[Sequence[QueuedWrite], asyncio.Future[None]]] = []
        # The first failure; after it nothing is stored any more.
        self._failure: StoreError | None = None

    @property
    def _numbers(self) -> Sequencer:
        if self._sequencer is None or self._backing.owner is not self:
            raise StoreMisuse("the store is not open")
        return self._sequencer

    @property
    def _stored(self) -> MemoryBacking:
        if self._backing.owner is not self:
            raise StoreMisuse("the store is not open")
        return self._backing

    @property
    def pending(self) -> int:
        """How many units were handed to ``write`` and are not durable yet."""
        return len(self._queue)

    @property
    def failure(self) -> StoreError | None:
        """Why the store takes no more writes, if it does not."""
        return self._failure

    async def __aenter__(self) -> Self:
        if self._sequencer is not None:
            raise StoreMisuse("a store is opened once; make another one")
        if self._backing.owner is not None:
            raise StoreBusy("the memory is in use by another store")
        self._backing.owner = self
        opening = self._backing.begin_run()
        self._sequencer = Sequencer(opening, lambda write: self._submit((write,)))
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._commit()
        if self._backing.owner is self:
            self._backing.owner = None
        if self._failure is not None and exc is None:
            raise self._failure

    def write(self, *writes: Write) -> asyncio.Future[None]:
        """Queue the writes as one atomic unit; the future ends when they are stored."""
        self._numbers.admit(writes)
        return self._submit(writes)

    async def read_after(
        self, seq: int, channels: Collection[str], limit: int | None = None
    ) -> list[Append]:
        """Return the entries of these channels above ``seq``, ascending, at most ``limit``."""
        found = [self._stored.channels[uri] for uri in set(channels) & self._stored.channels.keys()]
        entries = [entry for channel in found for entry in channel.log if entry.seq > seq]
        return sorted(entries, key=lambda entry: entry.seq)[:limit]

    async def load_channel(self, channel: str, at_most: int | None = None) -> StoredChannel | None:
        """Return the channel's snapshot and later entries; ``None`` if it has no snapshot."""
        found = self._stored.channels.get(channel)
        kept = () if found is None else (found.snapshot, found.earlier)
        fitting = (s for s in kept if s is not None and (at_most is None or s.seq <= at_most))
        snapshot = next(fitting, None)
        if found is None or snapshot is None:
            return None
        tail = tuple(entry for entry in found.log if entry.seq > snapshot.seq)
        trimmed = found.trimmed_through
        return StoredChannel(snapshot.kind, snapshot.seq, snapshot.state, tail, trimmed)

    async def load_whole(
        self, channel: str, buckets: Collection[str], owners: str
    ) -> WholeChannel | None:
        """Return a channel with its records in these buckets; ``None`` if it has no snapshot."""
        whole = await self._whole(channel, buckets)
        if whole is None or owners not in whole.records:
            return whole
        return replace(whole, owner=await self._whole(whole.records[owners].decode(), buckets))

    async def _whole(self, channel: str, buckets: Collection[str]) -> WholeChannel | None:
        stored = await self.load_channel(channel)
        if stored is None:
            return None
        values = {bucket: await self.record(bucket, channel) for bucket in buckets}
        records = {bucket: value for bucket, value in values.items() if value is not None}
        return WholeChannel(stored, await self.session_summary(channel), records)

    async def channel_positions(self, channels: Collection[str]) -> dict[str, int]:
        """Return ``trimmed_through`` of those channels that exist."""
        stored = self._stored.channels
        return {uri: stored[uri].trimmed_through for uri in channels if uri in stored}

    async def page_sessions(self, limit: int, cursor: str | None = None) -> SessionPage:
        """Return up to ``limit`` sessions: largest sort key first, then by session."""
        if limit < 1:
            raise StoreMisuse("a page has at least one item")
        start = 0
        # Sorting twice, because one key goes down and the other one up.
        places = sorted((uri, key) for uri, (key, _) in self._stored.sessions.items())
        places.sort(key=lambda place: place[1], reverse=True)
        if cursor is not None:
            after_key, after_uri = decode_cursor(cursor)
            start = sum(
                key > after_key or (key == after_key and uri <= after_uri) for uri, key in places
            )
        found = places[start : start + limit]
        items = [(uri, self._stored.sessions[uri][1]) for uri, _ in found]
        more = len(places) > start + limit
        return SessionPage(items, encode_cursor(found[-1][1], found[-1][0]) if more else None)

    async def session_summary(self, session: str) -> bytes | None:
        """Return the summary of one session of the catalogue."""
        found = self._stored.sessions.get(session)
        return None if found is None else found[1]

    async def count_sessions(self) -> int:
        """Return how many sessions the catalogue holds."""
        return len(self._stored.sessions)

    async def blob(self, uri: str) -> Blob | None:
        """Return the content kept under a URI."""
        return self._stored.blobs.get(uri)

    async def record(self, bucket: str, key: str) -> bytes | None:
        """Return the value under one key of a bucket."""
        return self._stored.records.get(bucket, {}).get(key)

    async def records(self, bucket: str) -> dict[str, bytes]:
        """Return all values of a bucket, in order of their keys."""
        return dict(sorted(self._stored.records.get(bucket, {}).items()))

    def _submit(self, writes: Sequence[QueuedWrite]) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        if not self._queue:
            loop.call_soon(self._commit)
        done: asyncio.Future[None] = loop.create_future()
        self._queue.append((writes, done))
        return done

    def _commit(self) -> None:
        queue, self._queue = self._queue, []
        if self._backing.owner is not self:
            # A killed process answers nobody.
            return
        if queue and self._failure is None:
            self._failure = self._backing.fail_with
        for writes, done in queue:
            if self._failure is None:
                for write in writes:
                    self._backing.apply(write)
            if done.done():
                continue
            if self._failure is None:
                done.set_result(None)
            else:
                done.set_exception(StoreError(*self._failure.args))
