"""Writes as SQL statements, on the one connection that writes.

Owns what each write does to the tables. It does not know when to commit or whom to tell;
``writer_thread`` does.

SQLite's module gives up the interpreter lock around every statement and has to win it back from
the event loop's thread, which can take milliseconds on a busy host. So what counts is how few
statements a commit takes: entries go in many to a statement, never through ``executemany``, which
is one statement per row here. The next that counts is each parameter: the module looks for an
adapter of every ``None`` and ``bytes`` that it is given, but not of a ``bytearray``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache

from agenthost.host.store.contract import (
    Append,
    DropBlobs,
    DropChannel,
    DropRecord,
    DropSession,
    MoveBlobs,
    PutBlob,
    PutRecord,
    PutSession,
    SaveSnapshot,
    TrimLog,
)
from agenthost.host.store.row_format import (
    checksum,
    entry_checksum,
    is_intact,
    short_record,
    short_state,
    short_time,
)
from agenthost.host.store.sequence import Opening, QueuedWrite, Reserve, Seal, plan_opening

# Larger inserts gain little, and each length is a prepared statement that stays in memory.
ROWS_PER_INSERT = 256
COLUMNS = ("seq", "channel", "now", "action", "checksum", "origin")
WIDTH = len(COLUMNS)

# Channels whose numbers are remembered; past this the memory starts afresh.
CHANNELS_REMEMBERED = 10_000

SAVE_SNAPSHOT = """
    INSERT INTO snapshot (channel, kind, seq, state, checksum) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (channel) DO UPDATE SET kind = excluded.kind, seq = excluded.seq,
        state = excluded.state, checksum = excluded.checksum WHERE excluded.seq >= snapshot.seq
"""
# The two tables have the same shape.
KEEP_EARLIER = """
    INSERT OR REPLACE INTO earlier_snapshot SELECT * FROM snapshot WHERE channel = ? AND seq < ?
"""
# Run before entries go: without those after it, the earlier snapshot leads nowhere.
DROP_CUT_OFF = """
    DELETE FROM earlier_snapshot WHERE channel = ?1 AND EXISTS (
        SELECT 1 FROM log
        WHERE log.channel = ?1 AND log.seq > earlier_snapshot.seq AND log.seq <= ?2
    )
"""
PUT_SESSION = """
    INSERT INTO session (sort_key, uri, summary, checksum) VALUES (?, ?, ?, ?)
    ON CONFLICT (uri) DO UPDATE SET sort_key = excluded.sort_key, summary = excluded.summary,
        checksum = excluded.checksum
"""
PUT_BLOB = """
    INSERT INTO blob (uri, owner, content_type, data, checksum) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (uri) DO UPDATE SET owner = excluded.owner, data = excluded.data,
        content_type = excluded.content_type, checksum = excluded.checksum
"""
FIND_BLOB = "SELECT content_type, data, checksum FROM blob WHERE uri = ? AND owner = ?"
MOVE_BLOB = "UPDATE blob SET owner = ?, checksum = ? WHERE uri = ?"
PUT_RECORD = """
    INSERT INTO record (bucket, key, value, checksum) VALUES (?, ?, ?, ?)
    ON CONFLICT (bucket, key) DO UPDATE SET value = excluded.value, checksum = excluded.checksum
"""
# Run before entries go: afterwards the log may no longer tell how far numbering got.
REMEMBER_USED = """
    UPDATE sequence SET value = max(value, (SELECT coalesce(max(seq), 0) FROM log))
    WHERE name = 'used'
"""
# The newest entry that does not fit any more, counted from the newest of all.
BEYOND = """
    SELECT coalesce(max(seq), 0) FROM (
        SELECT seq, sum(length(action)) OVER (ORDER BY seq DESC) AS size
        FROM log INDEXED BY log_by_channel WHERE channel = ?
    ) WHERE size > ?
"""
SET_SEQUENCE = "UPDATE sequence SET value = ? WHERE name = ?"


def begin_run(connection: sqlite3.Connection) -> Opening:
    """Find out where numbering goes on, and record the gap that the last run left."""
    stored = dict(connection.execute("SELECT name, value FROM sequence"))
    (logged,) = connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()
    gaps = connection.execute("SELECT last, first FROM gap ORDER BY last").fetchall()
    opening = plan_opening(stored["reserved"], max(stored["used"], logged), gaps)
    if opening.gaps != tuple(gaps):
        # A new gap is the highest one, or it extends the highest one.
        insert = "INSERT OR REPLACE INTO gap (last, first) VALUES (?, ?)"
        connection.execute(insert, opening.gaps[-1])
    return opening


class Statements:
    """Carries out writes in order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # One cursor for all of them: to make one for each commit takes as long as some statements.
        self._execute_insert = connection.cursor().execute
        # Numbers of channels that exist, as far as they were needed.
        self._channels: dict[str, int] = {}
        # Entries that are not in the log yet, as the flat list of an insert's parameters, and
        # whether one of them has an origin.
        self._entries: list[object] = []
        self._has_origins = False

    def commit(self, writes: Sequence[QueuedWrite]) -> None:
        """Carry out the writes in one transaction."""
        gathered = self._gather(writes, 0)
        if gathered == len(writes) <= ROWS_PER_INSERT:
            # A lone statement is its own transaction.
            self._insert_entries()
            return
        self._connection.execute("BEGIN IMMEDIATE")
        self.apply(writes, gathered)
        self._connection.execute("COMMIT")

    def apply(self, writes: Sequence[QueuedWrite], start: int = 0) -> None:
        """Carry out the writes, from one of them on, within the transaction that is open."""
        while start < len(writes):
            write = writes[start]
            if isinstance(write, Append):
                # Nothing of the channel is missing from its first entry on.
                self._channel(write.channel, begins_after=write.seq - 1)
            else:
                self._apply_other(write)
                start += 1
            start = self._gather(writes, start)
        self._insert_entries()

    def _gather(self, writes: Sequence[QueuedWrite], start: int) -> int:
        """Collect entries from ``start`` on, and return where something else has to come first."""
        known, entries = self._channels, self._entries
        for index in range(start, len(writes)):
            write = writes[index]
            if not isinstance(write, Append):
                return index
            channel = known.get(write.channel)
            if channel is None:
                return index
            seq, now, action, origin = write.seq, short_time(write.now), write.action, write.origin
            if origin is not None:
                self._has_origins = True
            checked = entry_checksum(seq, now, action, origin)
            entries += (seq, channel, now, bytearray(action), checked, origin)
        return len(writes)

    def _insert_entries(self) -> None:
        """Write out the collected entries; needed before anything that looks at the log."""
        entries, self._entries = self._entries, []
        width = WIDTH
        if not self._has_origins:
            # Most have none, and what is not said need not be passed.
            width -= 1
            del entries[width::WIDTH]
        self._has_origins = False
        step = ROWS_PER_INSERT * width
        for start in range(0, len(entries), step):
            chunk = entries[start : start + step] if len(entries) > step else entries
            self._execute_insert(_insert_rows(len(chunk) // width, width), chunk)

    def _apply_other(self, write: QueuedWrite) -> None:
        execute = self._connection.execute
        match write:
            case SaveSnapshot():
                self._save_snapshot(write)
            case DropChannel():
                self._drop_channel(write.channel)
            case TrimLog():
                self._trim_log(write)
            case PutSession():
                session = (write.sort_key, write.session, write.summary)
                execute(PUT_SESSION, (*session, checksum(*session)))
            case DropSession():
                execute("DELETE FROM session WHERE uri = ?", (write.session,))
            case PutBlob():
                blob = (write.uri, write.owner, write.content_type, write.data)
                execute(PUT_BLOB, (*blob, checksum(*blob)))
            case DropBlobs():
                execute("DELETE FROM blob WHERE owner = ?", (write.owner,))
            case MoveBlobs():
                self._move_blobs(write)
            case PutRecord():
                record = (write.bucket, write.key, short_record(write.value))
                execute(PUT_RECORD, (*record, checksum(*record)))
            case DropRecord():
                execute(
                    "DELETE FROM record WHERE bucket = ? AND key = ?", (write.bucket, write.key)
                )
            case Reserve():
                execute(SET_SEQUENCE, (write.through, "reserved"))
            case Seal():
                execute(SET_SEQUENCE, (write.last_used, "used"))
                execute(SET_SEQUENCE, (write.last_used, "reserved"))

    def _move_blobs(self, write: MoveBlobs) -> None:
        uris = [write.uri]
        if write.uri is None:
            query = "SELECT uri FROM blob WHERE owner = ?"
            uris = [uri for (uri,) in self._connection.execute(query, (write.owner,))]
        # One after the other: together they may be larger than memory.
        for uri in uris:
            found = self._connection.execute(FIND_BLOB, (uri, write.owner)).fetchone()
            if found is not None:
                content_type, data, checked = found
                if checked is not None and is_intact(checked, uri, write.owner, content_type, data):
                    checked = checksum(uri, write.new_owner, content_type, data)
                # What is damaged keeps a checksum that does not fit.
                self._connection.execute(MOVE_BLOB, (write.new_owner, checked, uri))

    def _save_snapshot(self, write: SaveSnapshot) -> None:
        channel = self._channel(write.channel, begins_after=write.seq)
        snapshot = (write.kind, write.seq, short_state(write.state))
        self._connection.execute(KEEP_EARLIER, (channel, write.seq))
        self._connection.execute(SAVE_SNAPSHOT, (channel, *snapshot, checksum(*snapshot)))

    def _drop_channel(self, uri: str) -> None:
        channel = self._find_channel(uri)
        if channel is None:
            return
        self._insert_entries()
        self._connection.execute(REMEMBER_USED)
        self._connection.execute("DELETE FROM log WHERE channel = ?", (channel,))
        self._connection.execute("DELETE FROM snapshot WHERE channel = ?", (channel,))
        self._connection.execute("DELETE FROM earlier_snapshot WHERE channel = ?", (channel,))
        self._connection.execute("DELETE FROM channel WHERE id = ?", (channel,))
        self._channels.pop(uri, None)

    def _trim_log(self, write: TrimLog) -> None:
        channel = self._find_channel(write.channel)
        if channel is None:
            return
        self._insert_entries()
        query = "SELECT seq FROM snapshot WHERE channel = ?"
        covered = self._connection.execute(query, (channel,)).fetchone()
        if covered is None:
            return
        through = write.through
        if write.keep_bytes is not None:
            (beyond,) = self._connection.execute(BEYOND, (channel, write.keep_bytes)).fetchone()
            through = max(through, beyond)
        through = min(through, covered[0])
        self._connection.execute(REMEMBER_USED)
        self._connection.execute(DROP_CUT_OFF, (channel, through))
        self._connection.execute(
            "DELETE FROM log WHERE channel = ? AND seq <= ?", (channel, through)
        )
        self._connection.execute(
            "UPDATE channel SET trimmed_through = max(trimmed_through, ?) WHERE id = ?",
            (through, channel),
        )

    def _channel(self, uri: str, *, begins_after: int) -> int:
        """Return the channel's number; give it one, and a beginning, if it is new."""
        channel = self._find_channel(uri)
        if channel is None:
            insert = "INSERT INTO channel (uri, trimmed_through) VALUES (?, ?)"
            channel = self._connection.execute(insert, (uri, begins_after)).lastrowid
            assert channel is not None, "an insert gives a row its number"
            self._remember(uri, channel)
        return channel

    def _find_channel(self, uri: str) -> int | None:
        channel = self._channels.get(uri)
        if channel is None:
            query = "SELECT id FROM channel WHERE uri = ?"
            row = self._connection.execute(query, (uri,)).fetchone()
            if row is None:
                return None
            channel = int(row[0])
            self._remember(uri, channel)
        return channel

    def _remember(self, uri: str, channel: int) -> None:
        if len(self._channels) >= CHANNELS_REMEMBERED:
            self._channels.clear()
        self._channels[uri] = channel


@cache
def _insert_rows(count: int, width: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"INSERT INTO log ({', '.join(COLUMNS[:width])}) VALUES {', '.join([row] * count)}"
