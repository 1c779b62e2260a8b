"""The default store: one SQLite file, written by one thread and read by others.

Owns the life of the store and joins its parts: ``writer_thread`` (the thread and its queue),
``database`` (what that thread does), ``reader_threads`` and ``queries`` (reads), ``sequence``
(numbers). A killed host loses nothing that was acknowledged; with ``durability="full"`` neither
does a power cut.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from types import TracebackType
from typing import Self

from msgspec import Struct

from agenthost.host.store import queries
from agenthost.host.store.contract import (
    Append,
    Blob,
    SessionPage,
    StoredChannel,
    StoreError,
    StoreMisuse,
    WholeChannel,
    Write,
)
from agenthost.host.store.cursors import decode_cursor
from agenthost.host.store.database import Database, Durability
from agenthost.host.store.reader_threads import ReaderThreads
from agenthost.host.store.sequence import (
    NumberedStore,
    NumberWrite,
    OutsideSequencer,
    Sequencer,
)
from agenthost.host.store.thread_starvation import StarvationGuard
from agenthost.host.store.upgrade import ContentUpgrade, OnUpgrade, UpgradeReport, tell_nobody
from agenthost.host.store.writer_thread import WriterThread


class Parts(Struct, frozen=True):
    """What an open store consists of."""

    writer: WriterThread[Database]
    readers: ReaderThreads
    numbers: Sequencer
    upgraded: UpgradeReport | None


class SqliteStore(NumberedStore):
    """A ``Store`` in one SQLite file, which is created if there is none."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "normal",
        on_upgrade: OnUpgrade = tell_nobody,
        numbers_from_outside: bool = False,
    ) -> None:
        """Name the file, which is opened with ``async with``.

        With ``numbers_from_outside`` it takes any numbers that grow: they are another log's, which
        this store copies, so it reserves none and has no gaps.

        ``on_upgrade`` is told, in another thread, when content of an older agenthost must be
        brought up before the store can be used, which may take minutes.
        """
        # Resolved, so that two names of one file meet at one lock.
        self._path = os.path.realpath(path)
        self._durability: Durability = durability
        self._on_upgrade = on_upgrade
        self._numbers_from_outside = numbers_from_outside
        self._upgrade: ContentUpgrade | None = None
        # ``None`` until the store is opened.
        self._parts: Parts | None = None

    @property
    def _open(self) -> Parts:
        if self._parts is None:
            raise StoreMisuse("the store is not open")
        return self._parts

    @property
    def _numbers(self) -> Sequencer:
        return self._open.numbers

    @property
    def pending(self) -> int:
        """How many units were handed to ``write`` and are not durable yet."""
        return self._open.writer.pending

    @property
    def failure(self) -> StoreError | None:
        """Why the store takes no more writes, if it does not."""
        return self._open.writer.failure

    @property
    def upgrade_report(self) -> UpgradeReport | None:
        """What was brought up when the store was opened; ``None`` where nothing was."""
        return self._open.upgraded

    def upgrade_with(self, upgrade: ContentUpgrade) -> None:
        """Bring content of older versions up when the store is opened, and refuse newer ones."""
        if self._parts is not None:
            raise StoreMisuse("the store is open already")
        self._upgrade = upgrade

    async def __aenter__(self) -> Self:
        if self._parts is not None:
            raise StoreMisuse("a store is opened once; make another one")
        guard = StarvationGuard(asyncio.get_running_loop())
        writer = WriterThread(self._open_database, guard)
        database = await writer.start()

        def persist(write: NumberWrite) -> asyncio.Future[None]:
            return writer.submit((write,), synced=True)

        numbers = (
            OutsideSequencer(database.opening)
            if self._numbers_from_outside
            else Sequencer(database.opening, persist)
        )
        readers = ReaderThreads(self._path, guard)
        self._parts = Parts(writer, readers, numbers, database.upgraded)
        return self

    def _open_database(self) -> Database:
        return Database.open(self._path, self._durability, self._upgrade, self._on_upgrade)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        parts = self._open
        try:
            # Before the database, so that its own connection is the last one and cleans up.
            await parts.readers.close()
        finally:
            try:
                await parts.writer.stop()
            except StoreError:
                if exc is None:
                    raise

    def write(self, *writes: Write) -> asyncio.Future[None]:
        """Queue the writes as one atomic unit; the future ends when a killed host keeps them."""
        parts = self._open
        parts.numbers.admit(writes)
        return parts.writer.submit(writes)

    async def read_after(
        self, seq: int, channels: Collection[str], limit: int | None = None
    ) -> list[Append]:
        """Return the entries of these channels above ``seq``, ascending, at most ``limit``."""
        return await self._open.readers.ask(queries.read_after, seq, channels, limit)

    async def load_channel(self, channel: str, at_most: int | None = None) -> StoredChannel | None:
        """Return the channel's snapshot and later entries; ``None`` if it has no snapshot."""
        return await self._open.readers.ask(queries.load_channel, channel, at_most)

    async def load_whole(
        self, channel: str, buckets: Collection[str], owners: str
    ) -> WholeChannel | None:
        """Return a channel with its records in these buckets; ``None`` if it has no snapshot."""
        return await self._open.readers.ask(queries.load_whole, channel, buckets, owners)

    async def channel_positions(self, channels: Collection[str]) -> dict[str, int]:
        """Return ``trimmed_through`` of those channels that exist."""
        return await self._open.readers.ask(queries.channel_positions, channels)

    async def page_sessions(self, limit: int, cursor: str | None = None) -> SessionPage:
        """Return up to ``limit`` sessions: largest sort key first, then by session."""
        if limit < 1:
            raise StoreMisuse("a page has at least one item")
        after = None if cursor is None else decode_cursor(cursor)
        return await self._open.readers.ask(queries.page_sessions, limit, after)

    async def session_summary(self, session: str) -> bytes | None:
        """Return the summary of one session of the catalogue."""
        return await self._open.readers.ask(queries.session_summary, session)

    async def count_sessions(self) -> int:
        """Return how many sessions the catalogue holds."""
        return await self._open.readers.ask(queries.count_sessions)

    async def blob(self, uri: str) -> Blob | None:
        """Return the content kept under a URI."""
        return await self._open.readers.ask(queries.blob, uri)

    async def record(self, bucket: str, key: str) -> bytes | None:
        """Return the value under one key of a bucket."""
        return await self._open.readers.ask(queries.record, bucket, key)

    async def records(self, bucket: str) -> dict[str, bytes]:
        """Return all values of a bucket, in order of their keys."""
        return await self._open.readers.ask(queries.records, bucket)
