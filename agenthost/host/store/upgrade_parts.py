"""The parts of a store that an upgrade goes through, batch by batch: channels, records, sessions.

Owns which rows a batch takes, what is written in their place, and what becomes of those that are
not brought up. Rows that are damaged are left as they are, and told as damaged when they are read,
as ever. A row that is sound and yet cannot be brought up is left as well, marked so that nobody
takes it for one of the new version. So is one of which SQLite cannot read some page; those on the
other pages are brought up all the same.
"""

from __future__ import annotations

import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from agenthost.host.store import queries
from agenthost.host.store.contract import Append, StoreDamaged, StoredChannel
from agenthost.host.store.files import is_unreadable
from agenthost.host.store.row_format import (
    NOT_BROUGHT_UP,
    checksum,
    entry_checksum,
    is_intact,
    long_record,
    short_record,
    short_state,
    short_time,
)
from agenthost.host.store.upgrade import ContentUpgrade, NewChannel, OldChannel

# A batch ends when it has so many rows, or so many bytes were read for it.
MOST_ROWS, MOST_BYTES = 256, 8 * 1024 * 1024

# Names travel as bytes, so that a damaged one is still a place to go on from.
CHANNELS = """
    SELECT channel.id, channel.uri FROM channel JOIN snapshot ON snapshot.channel = channel.id
    WHERE channel.id > ? AND snapshot.kind {among} ({kinds}) ORDER BY channel.id LIMIT ?
"""
ONE_CHANNEL = """
    SELECT channel.id, channel.uri FROM channel JOIN snapshot ON snapshot.channel = channel.id
    WHERE channel.id = ? AND snapshot.kind {among} ({kinds})
"""
RECORDS = """
    SELECT CAST(key AS BLOB), bucket, key, value, checksum FROM record
    WHERE bucket = ? AND key > CAST(? AS TEXT) ORDER BY key LIMIT ?
"""
PUT_RECORD = """
    UPDATE record SET value = ?, checksum = ? WHERE bucket = ? AND key = CAST(? AS TEXT)
"""
SESSIONS = """
    SELECT CAST(uri AS BLOB), sort_key, uri, summary, checksum FROM session
    WHERE uri > CAST(? AS TEXT) ORDER BY uri LIMIT ?
"""
# From the index alone, which is on other pages.
SESSION_NAMES = """
    SELECT CAST(uri AS BLOB) FROM session WHERE uri > CAST(? AS TEXT) ORDER BY uri LIMIT ?
"""
ONE_SESSION = """
    SELECT CAST(uri AS BLOB), sort_key, uri, summary, checksum FROM session
    WHERE uri = CAST(? AS TEXT)
"""
PUT_SUMMARY = "UPDATE session SET summary = ?, checksum = ? WHERE uri = CAST(? AS TEXT)"
PUT_SNAPSHOT = "UPDATE snapshot SET seq = ?, state = ?, checksum = ? WHERE channel = ?"
PUT_ACTION = "UPDATE log SET now = ?, action = ?, checksum = ? WHERE seq = ?"
# Whatever a client missed of the log is of the former version: it gets a snapshot.
NO_REPLAY = """
    UPDATE channel SET trimmed_through = max(
        trimmed_through,
        (SELECT coalesce(max(seq), 0) FROM log WHERE channel = channel.id),
        (SELECT coalesce(max(seq), 0) FROM snapshot WHERE snapshot.channel = channel.id)
    ) WHERE id = ?
"""

log = logging.getLogger(__name__)

# A row as SQLite gives it, its name first: what the rest holds is the query's business.
Row: TypeAlias = tuple[Any, ...]
# What rows go by: the numbers of channels, and of all others their keys.
Name = TypeVar("Name", int, bytes)


class PageUnreadable(Exception):
    """A page of the file is damaged; SQLite writes nothing more in this transaction."""


class Batch(Generic[Name]):
    """What one transaction has done."""

    def __init__(self) -> None:
        self.rows = self.bytes = 0
        # The name of the last row, from which the next batch goes on.
        self.last: Name | None = None
        # Rows that could not be read, and rows that could and yet not be brought up.
        self.damaged = self.failed = 0

    @property
    def is_full(self) -> bool:
        """Whether the rest is for the next one."""
        return self.rows >= MOST_ROWS or self.bytes >= MOST_BYTES


class Part(ABC, Generic[Name]):
    """One part of a store."""

    holds_channels: ClassVar[bool] = False

    def __init__(
        self, connection: sqlite3.Connection, upgrade: ContentUpgrade, version: str
    ) -> None:
        self._connection = connection
        self._upgrade = upgrade
        # What the rows are of that are not brought up yet.
        self._version = version
        # Rows that met an unreadable page, and whether that was already when they were marked.
        self._unreadable: dict[Name, bool] = {}

    def next_rows(self, after: Name | None) -> list[Row]:
        """Return the rows that follow, outside of any transaction; none means the end."""
        try:
            return self._rows(after)
        except sqlite3.Error as error:
            if not is_unreadable(error):
                raise
            return self._rows_one_by_one(after)

    def bring_up(self, rows: Sequence[Row]) -> Batch[Name]:
        """Bring up the first of these rows, in the transaction that is open.

        Raises:
            PageUnreadable: not in this transaction; the next one does without what it met.
        """
        batch: Batch[Name] = Batch()
        for row in rows:
            alone = row[0] in self._unreadable
            if alone and batch.rows:
                # Whatever comes before it is safe then, whatever it does to its transaction.
                break
            self._attempt(row, batch)
            batch.rows += 1
            batch.last = row[0]
            if alone or batch.is_full:
                break
        return batch

    def _attempt(self, row: Row, batch: Batch[Name]) -> None:
        """Bring one row up, or leave it as if nobody had tried."""
        try:
            if row[0] in self._unreadable:
                self._leave_unreadable(row, batch)
            else:
                self._attempt_readable(row, batch)
        except sqlite3.Error as error:
            if not is_unreadable(error):
                raise
            self._unreadable[row[0]] = row[0] in self._unreadable
            raise PageUnreadable(str(error)) from error

    def _attempt_readable(self, row: Row, batch: Batch[Name]) -> None:
        execute = self._connection.execute
        execute("SAVEPOINT one_row")
        try:
            batch.bytes += self._bring_up(row)
        except StoreDamaged:
            execute("ROLLBACK TO one_row")
            self._leave_damaged(row)
            batch.damaged += 1
        except sqlite3.Error:
            raise
        except Exception:
            execute("ROLLBACK TO one_row")
            log.exception("%s could not be brought up and is left as it is", self._name(row))
            self._leave_failed(row)
            batch.failed += 1
        execute("RELEASE one_row")

    def _leave_unreadable(self, row: Row, batch: Batch[Name]) -> None:
        """Mark a row, because part of it may be readable; let it be if it cannot even be marked."""
        if self._unreadable[row[0]]:
            batch.damaged += 1
            return
        self._leave_failed(row)
        log.error("%s is on a damaged page and is left as it is", self._name(row))
        batch.failed += 1

    @abstractmethod
    def _rows(self, after: Name | None) -> list[Row]:
        """Return the next rows, each with its name first."""

    @abstractmethod
    def _rows_one_by_one(self, after: Name | None) -> list[Row]:
        """Return the next rows where a page is damaged: those on it by their names alone."""

    def _one(self, query: str, values: Sequence[object], name: Name) -> list[Row]:
        """Return a row by its name; the name alone if it is on a damaged page."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            if not is_unreadable(error):
                raise
            self._unreadable[name] = True
            return [(name, "")]

    @abstractmethod
    def _name(self, row: Row) -> str:
        """Return what to call a row in the log."""

    @abstractmethod
    def _bring_up(self, row: Row) -> int:
        """Bring a row up, and return how many bytes it had."""

    def _leave_damaged(self, row: Row) -> None:
        """Do what a row needs that cannot be read."""
        return None

    @abstractmethod
    def _leave_failed(self, row: Row) -> None:
        """Mark a row so that nobody takes it for one of the new version."""


class ChannelPart(Part[int]):
    """The channels of some kinds, with their logs."""

    holds_channels = True

    def __init__(
        self,
        connection: sqlite3.Connection,
        upgrade: ContentUpgrade,
        version: str,
        *,
        are_late: bool,
    ) -> None:
        super().__init__(connection, upgrade, version)
        self._late = list(upgrade.late_kinds)
        places = ", ".join("?" * len(self._late))
        self._are_late = are_late
        among = "IN" if are_late else "NOT IN"
        self._query = CHANNELS.format(among=among, kinds=places)
        self._query_one = ONE_CHANNEL.format(among=among, kinds=places)

    def _rows(self, after: int | None) -> list[Row]:
        start = -1 if after is None else after
        return self._connection.execute(self._query, (start, *self._late, MOST_ROWS)).fetchall()

    def _rows_one_by_one(self, after: int | None) -> list[Row]:
        (last,) = self._connection.execute("SELECT max(id) FROM channel").fetchone()
        rows: list[Row] = []
        for number in range(0 if after is None else after + 1, last + 1):
            found = self._one(self._query_one, (number, *self._late), number)
            # Nobody knows of which kind a damaged one is; it is counted once.
            rows += found if found[:1] != [(number, "")] or not self._are_late else []
            if len(rows) >= MOST_ROWS:
                break
        return rows

    def _name(self, row: Row) -> str:
        return ascii(row[1])

    def _bring_up(self, row: Row) -> int:
        number, uri = row
        stored = self._stored(uri)
        owner = queries.record(self._connection, self._upgrade.owners, uri)
        sent = self._sent(uri)
        old = OldChannel(uri, owner.decode() if owner is not None else None, stored, sent)
        new = self._upgrade.channel(self._version, old, self._read_state)
        self._replace(number, old, new)
        return len(stored.state) + sum(len(entry.action) for entry in stored.tail)

    def _stored(self, uri: str) -> StoredChannel:
        try:
            found = queries.stored_channel(self._connection, uri)
        except StoreDamaged:
            # The one before it will do, with all that happened since.
            found = queries.stored_channel_before(self._connection, uri)
            if found is None:
                raise
        if found is None:
            # A snapshot was seen under this name, so the index of names says something else.
            raise StoreDamaged(f"{uri!a} is damaged")
        return found

    def _sent(self, uri: str) -> Sequence[Append]:
        try:
            return queries.sent_entries(self._connection, uri)
        except StoreDamaged:
            # They may be from before the snapshot, and then the channel is sound without them.
            return ()

    def _read_state(self, uri: str) -> bytes | None:
        try:
            found = queries.stored_channel(self._connection, uri)
        except StoreDamaged:
            return None
        return None if found is None else found.state

    def _replace(self, number: int, old: OldChannel, new: NewChannel) -> None:
        execute, stored = self._connection.execute, old.stored
        last = stored.tail[-1].seq if stored.tail else stored.seq
        state = short_state(new.state)
        execute(PUT_SNAPSHOT, (last, state, checksum(stored.kind, last, state), number))
        execute("DELETE FROM earlier_snapshot WHERE channel = ?", (number,))
        for entry in old.sent:
            action, now = new.actions.get(entry.seq), short_time(entry.now)
            if action is not None:
                checked = entry_checksum(entry.seq, now, action, entry.origin)
                execute(PUT_ACTION, (now, action, checked, entry.seq))
        execute(NO_REPLAY, (number,))
        # What clients sent is asked for when they send it again; nobody needs the rest.
        execute("DELETE FROM log WHERE channel = ? AND origin IS NULL", (number,))

    def _leave_damaged(self, row: Row) -> None:
        self._connection.execute(NO_REPLAY, (row[0],))

    def _leave_failed(self, row: Row) -> None:
        for table in ("snapshot", "earlier_snapshot"):
            mark = f"UPDATE {table} SET checksum = ? WHERE channel = ?"
            self._connection.execute(mark, (NOT_BROUGHT_UP, row[0]))
        self._connection.execute(NO_REPLAY, (row[0],))


class RecordPart(Part[bytes]):
    """The records of one bucket."""

    def __init__(
        self, connection: sqlite3.Connection, upgrade: ContentUpgrade, version: str, bucket: str
    ) -> None:
        super().__init__(connection, upgrade, version)
        self._bucket = bucket

    def _rows(self, after: bytes | None) -> list[Row]:
        values = (self._bucket, b"" if after is None else after, MOST_ROWS)
        return self._connection.execute(RECORDS, values).fetchall()

    def _rows_one_by_one(self, after: bytes | None) -> list[Row]:
        # Their names are on the same pages: nobody can tell what is missing.
        return self._rows(after)

    def _name(self, row: Row) -> str:
        return f"{self._bucket} {row[2]!a}"

    def _bring_up(self, row: Row) -> int:
        name, bucket, key, value, _ = _sound(self._name(row), row)
        old = long_record(value)
        new = short_record(self._upgrade.record(self._version, bucket, key, old))
        checked = checksum(bucket, key, new)
        self._connection.execute(PUT_RECORD, (new, checked, self._bucket, name))
        return len(old)

    def _leave_failed(self, row: Row) -> None:
        values = (row[3], NOT_BROUGHT_UP, self._bucket, row[0])
        self._connection.execute(PUT_RECORD, values)


class SessionPart(Part[bytes]):
    """The list of sessions."""

    def _rows(self, after: bytes | None) -> list[Row]:
        values = (b"" if after is None else after, MOST_ROWS)
        return self._connection.execute(SESSIONS, values).fetchall()

    def _rows_one_by_one(self, after: bytes | None) -> list[Row]:
        values = (b"" if after is None else after, MOST_ROWS)
        names = self._connection.execute(SESSION_NAMES, values).fetchall()
        return [row for (name,) in names for row in self._one(ONE_SESSION, (name,), name)]

    def _name(self, row: Row) -> str:
        return f"the list entry of {row[0].decode(errors='replace')!a}"

    def _bring_up(self, row: Row) -> int:
        name, sort_key, uri, summary, _ = _sound(self._name(row), row)
        try:
            stored = queries.stored_channel(self._connection, uri)
        except StoreDamaged:
            stored = None
        state = None if stored is None else stored.state
        new = self._upgrade.summary(self._version, uri, summary, state)
        self._connection.execute(PUT_SUMMARY, (new, checksum(sort_key, uri, new), name))
        return len(summary)

    def _leave_failed(self, row: Row) -> None:
        self._connection.execute(PUT_SUMMARY, (row[3], NOT_BROUGHT_UP, row[0]))


AnyPart: TypeAlias = Part[Any]


def parts_of(
    connection: sqlite3.Connection, upgrade: ContentUpgrade, version: str
) -> Sequence[AnyPart]:
    """Return all parts that an upgrade goes through, in order."""
    return [
        ChannelPart(connection, upgrade, version, are_late=False),
        ChannelPart(connection, upgrade, version, are_late=True),
        *(RecordPart(connection, upgrade, version, bucket) for bucket in upgrade.buckets),
        SessionPart(connection, upgrade, version),
    ]


def _sound(name: str, row: Row) -> Row:
    """Return a row of a name, parts and a checksum; ``StoreDamaged`` if it is not as written."""
    _, *parts, stored = row
    if not is_intact(stored, *parts) or not isinstance(parts[-1], bytes):
        raise StoreDamaged(f"{name} is damaged")
    return row
