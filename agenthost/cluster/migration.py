"""Moving a single host's sessions into a realm, and a realm's back into a single host's store.

Both copy and change nothing where they read. Numbers go on above those that clients have seen, so
that whoever comes back is sent states and never half of one history and half of another.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from agenthost.cluster.commits import Commit, RealmWrite, encode_commit
from agenthost.cluster.copy import CopyStore, LocalCopy
from agenthost.cluster.copy.intake import ABOUT
from agenthost.cluster.copy.list_book import LIST
from agenthost.cluster.copy.unit_book import CHANNELS, UNITS
from agenthost.cluster.numbers import message_of, number
from agenthost.cluster.realm import Appender, RealmError, RealmInfo, RealmLink
from agenthost.cluster.units import MISC, REALM
from agenthost.errors import AgentHostError
from agenthost.host.backup.numbers import last_reserved, skip_seen_numbers
from agenthost.host.backup.replacement import DRAFT, occupants, owned
from agenthost.host.channels.automation.book import ACTIVE_RUNS, AUTOMATIONS_BUCKET
from agenthost.host.channels.changeset.checkpoint_book import LEFT_BEHIND as LEFT_CHECKPOINTS
from agenthost.host.channels.content_upgrade import StoredModel
from agenthost.host.channels.session.content_owners import sessions_of
from agenthost.host.channels.session.records import LEFT_BEHIND as LEFT_WORKTREES
from agenthost.host.log.directory import OWNERS
from agenthost.host.store import PutBlob, PutRecord, PutSession, SaveSnapshot
from agenthost.host.store.files import connect_onlooker, translated

STORE = "agenthost.sqlite"
NODE = "migration"
"""Who wrote what was brought into a realm."""

# Files of one machine, of which another knows nothing; and what is a copy's own.
_OF_COPIES = ((ABOUT,), (UNITS,), (CHANNELS,), (LIST,))
_LEFT_OUT = (LEFT_CHECKPOINTS, LEFT_WORKTREES, *(name for (name,) in _OF_COPIES))
_OF_THE_REALM = (AUTOMATIONS_BUCKET, ACTIVE_RUNS)
# Writes of one commit, where they need not be one: far below what a batch can have.
_AT_ONCE = 5_000

Note = Callable[[int, int], None]
"""Told how many sessions are through, and of how many."""


class CannotMigrate(AgentHostError):
    """A store or a realm cannot be copied to where it should go; nothing was changed there."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was copied."""

    sessions: int
    channels: int


async def copy_into_realm(data_dir: Path, link: RealmLink, note: Note) -> Migrated:
    """Copy the store of a host that does not run into a realm that is empty, or not there yet.

    Raises:
        AgentHostError: a host uses the directory, the realm has something in it, or either cannot
            be read or written.
    """
    source = data_dir / STORE
    if not source.is_file():
        raise CannotMigrate(f"there are no sessions in {data_dir}: {STORE} is not there")
    with owned(data_dir):
        async with _brought_up(source) as (store, path):
            first = message_of(last_reserved(source)) + 2
            info = await link.open_realm(first_message=first)
            if info.last >= info.first:
                raise CannotMigrate(
                    f"the realm “{link.address.realm}” has something in it already: name another "
                    "one with --realm"
                )
            if info.begins < first:
                raise CannotMigrate(
                    f"the realm “{link.address.realm}” was made before, for other numbers: name "
                    "another one with --realm"
                )
            return await _Import(store, path, Appender(link), note).run()


async def copy_from_realm(link: RealmLink, info: RealmInfo, data_dir: Path) -> Migrated:
    """Copy a realm, as it is now, into a data directory that is empty.

    Raises:
        AgentHostError: there is something, or the realm cannot be read.
    """
    os.makedirs(data_dir, mode=0o700, exist_ok=True)
    with owned(data_dir):
        found = occupants(data_dir)
        if found:
            raise CannotMigrate(f"{data_dir} is in use already ({found[0].name})")
        # On the same disk: it becomes the store by being renamed, when it is whole.
        with tempfile.TemporaryDirectory(dir=data_dir, prefix=DRAFT) as folder:
            draft = Path(folder) / STORE
            async with LocalCopy(Path(folder) / "copy", link, info) as copy:
                await copy.caught_up()
                position = copy.position
                await copy.store.copy_to(str(draft))
            with translated(str(draft)), contextlib.closing(sqlite3.connect(draft)) as connection:
                connection.executemany("DELETE FROM record WHERE bucket = ?", _OF_COPIES)
                connection.commit()
                migrated = Migrated(_count(connection, "session"), _count(connection, "snapshot"))
            skip_seen_numbers(draft, time.time(), above=number(position + 1, 0))
            draft.rename(data_dir / STORE)
    return migrated


def _count(connection: sqlite3.Connection, table: str) -> int:
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


@asynccontextmanager
async def _brought_up(source: Path) -> AsyncIterator[tuple[CopyStore, Path]]:
    """Give a store of the newest form with what a file has, which stays as it is."""
    with tempfile.TemporaryDirectory(prefix="agenthost-migrate-") as folder:
        path = Path(folder) / STORE
        with translated(str(source)), contextlib.closing(connect_onlooker(str(source))) as onlooker:
            onlooker.execute("VACUUM INTO ?", (str(path),))
        store = CopyStore(path, StoredModel())
        await store.open()
        try:
            yield store, path
        finally:
            await store.close()


class _Import:
    """Appends all that a store has, unit by unit."""

    def __init__(self, store: CopyStore, path: Path, appender: Appender, note: Note) -> None:
        self._store = store
        self._path = path
        self._appender = appender
        self._note = note
        # Unit -> the last message of its log.
        self._last: dict[str, int] = {}

    async def run(self) -> Migrated:
        with contextlib.closing(connect_onlooker(str(self._path))) as names:
            sort_keys: dict[str, str] = dict(_rows(names, "SELECT uri, sort_key FROM session"))
            owners = {
                channel: session.decode()
                for channel, session in (await self._store.records(OWNERS)).items()
            }
            kinds: dict[str, str] = dict(
                _rows(
                    names,
                    "SELECT uri, kind FROM snapshot JOIN channel ON channel.id = snapshot.channel",
                )
            )
            sessions = {channel for channel, kind in kinds.items() if kind == "session"}
            channels: dict[str, list[str]] = defaultdict(list)
            for channel in kinds:
                unit = channel if channel in sessions else owners.get(channel, REALM)
                channels[unit if unit in sessions else REALM].append(channel)
            blobs: dict[str, list[tuple[str, str]]] = defaultdict(list)
            for uri, owner in _rows(names, "SELECT uri, owner FROM blob"):
                unit = next((each for each in sessions_of(owner) if each in sessions), MISC)
                blobs[unit].append((uri, owner))
            buckets = [bucket for (bucket,) in _rows(names, "SELECT DISTINCT bucket FROM record")]
        units = {channel: unit for unit, inside in channels.items() for channel in inside}
        records = await self._records(buckets, units)
        await self._unit(REALM, channels.pop(REALM, []), records.pop(REALM, []), blobs, sort_keys)
        for done, (unit, inside) in enumerate(sorted(channels.items()), 1):
            await self._unit(unit, inside, records.pop(unit, []), blobs, sort_keys)
            self._note(done, len(channels))
        await self._unit(MISC, [], records.pop(MISC, []), blobs, {})
        return Migrated(len(channels), len(kinds))

    async def _records(
        self, buckets: Sequence[str], units: dict[str, str]
    ) -> dict[str, list[PutRecord]]:
        """Return the records of each unit."""
        found: dict[str, list[PutRecord]] = defaultdict(list)
        for bucket in buckets:
            if bucket in _LEFT_OUT:
                continue
            for key, value in (await self._store.records(bucket)).items():
                unit = REALM if bucket in _OF_THE_REALM else units.get(key, MISC)
                found[unit].append(PutRecord(bucket, key, value))
        return found

    async def _unit(
        self,
        unit: str,
        channels: list[str],
        records: Sequence[PutRecord],
        blobs: dict[str, list[tuple[str, str]]],
        sort_keys: dict[str, str],
    ) -> None:
        # Which session a channel belongs to is known before the channel comes.
        writes: list[RealmWrite] = list(records)
        for channel in channels:
            stored = await self._store.load_channel(channel)
            if stored is None:
                continue
            writes.append(SaveSnapshot(channel, stored.kind, 0, stored.state))
            writes += stored.tail
        if unit in sort_keys:
            summary = await self._store.session_summary(unit)
            if summary is not None:
                writes.append(PutSession(unit, sort_keys[unit], summary))
        for start in range(0, len(writes), _AT_ONCE):
            await self._append(unit, writes[start : start + _AT_ONCE])
        # One by one: they may be large, and nothing hangs on their coming together.
        for uri, owner in blobs.get(unit, ()):
            blob = await self._store.blob(uri)
            if blob is not None:
                await self._append(unit, [PutBlob(uri, owner, blob.content_type, blob.data)])

    async def _append(self, unit: str, writes: Sequence[RealmWrite]) -> None:
        commit = Commit(uuid4().hex, unit, NODE, tuple(writes))
        expected = None if unit == MISC else self._last.get(unit, 0)
        try:
            self._last[unit] = await self._appender.append(
                unit, encode_commit(commit), commit.id, expected
            )
        except RealmError as error:
            raise CannotMigrate(
                f"the realm is not complete, so that nobody should use it: {error}. Name another "
                "one with --realm for the next try"
            ) from error


def _rows(connection: sqlite3.Connection, query: str) -> Iterator[Any]:
    yield from connection.execute(query)
