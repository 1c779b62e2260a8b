"""The SQLite store's reads: one function per question, each on a connection of its own.

Owns the ``SELECT`` statements, and what becomes of a row that is not as it was written: one that
was asked for raises ``StoreDamaged``; in a list it is left out and logged, so that the rest can be
used. It does not know threads; ``reader_threads`` does. A question that takes several statements
asks them in one transaction, so that the answer is of one moment.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from agenthost.host.store.contract import (
    Append,
    Blob,
    SessionPage,
    StoreDamaged,
    StoredChannel,
    WholeChannel,
)
from agenthost.host.store.cursors import encode_cursor
from agenthost.host.store.row_format import (
    entry_checksum,
    is_intact,
    long_record,
    long_state,
    long_time,
    session_checksum,
)

# The joins are CROSS so that SQLite goes from the wanted channels into the log's index, and never
# over everything above ``seq``.
READ_AFTER = """
    WITH wanted (uri) AS (VALUES {wanted})
    SELECT log.seq, channel.uri, log.now, log.action, log.origin, log.checksum
    FROM wanted
    CROSS JOIN channel ON channel.uri = wanted.uri
    CROSS JOIN log INDEXED BY log_by_channel ON log.channel = channel.id AND log.seq > ?
    ORDER BY log.seq LIMIT ?
"""
LOAD_CHANNEL = """
    SELECT channel.id, snapshot.kind, snapshot.seq, snapshot.state, snapshot.checksum,
        channel.trimmed_through
    FROM channel JOIN {kept} snapshot ON snapshot.channel = channel.id WHERE channel.uri = ?
"""
LOAD_LAST = LOAD_CHANNEL.format(kept="snapshot")
LOAD_EARLIER = LOAD_CHANNEL.format(kept="earlier_snapshot")
TAIL = """
    SELECT seq, ?, now, action, origin, checksum FROM log INDEXED BY log_by_channel
    WHERE channel = ? AND seq > ? ORDER BY seq
"""
SENT = """
    SELECT log.seq, channel.uri, log.now, log.action, log.origin, log.checksum
    FROM channel CROSS JOIN log INDEXED BY log_by_channel ON log.channel = channel.id
    WHERE channel.uri = ? AND log.origin IS NOT NULL ORDER BY log.seq
"""
RECORDS_OF = """
    SELECT bucket, key, value, checksum FROM record WHERE key = ? AND bucket IN ({wanted})
"""
POSITIONS = "SELECT uri, trimmed_through FROM channel WHERE uri IN ({wanted})"
FIRST_PAGE = """
    SELECT sort_key, uri, summary, checksum FROM session ORDER BY sort_key DESC, uri LIMIT ?
"""
# A page goes on with the rest of the sessions of equal age, then with the older ones. Two queries,
# because SQLite cannot seek in an index to a place that one condition with OR describes.
SAME_AGE = """
    SELECT sort_key, uri, summary, checksum FROM session
    WHERE sort_key = ? AND uri > ? ORDER BY uri LIMIT ?
"""
OLDER = """
    SELECT sort_key, uri, summary, checksum FROM session
    WHERE sort_key < ? ORDER BY sort_key DESC, uri LIMIT ?
"""
NO_LIMIT = -1

Row: TypeAlias = Sequence[Any]

log = logging.getLogger(__name__)


@contextlib.contextmanager
def one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Make all statements inside see the store at one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def read_after(
    connection: sqlite3.Connection, seq: int, channels: Collection[str], limit: int | None
) -> list[Append]:
    """Return the entries of these channels above ``seq``, ascending."""
    wanted = set(channels)
    if not wanted:
        return []
    query = READ_AFTER.format(wanted=", ".join(["(?)"] * len(wanted)))
    bound = NO_LIMIT if limit is None else limit
    rows = connection.execute(query, (*wanted, seq, bound)).fetchall()
    return _entries(rows)


def load_channel(
    connection: sqlite3.Connection, channel: str, at_most: int | None
) -> StoredChannel | None:
    """Return the channel's snapshot and later entries."""
    with one_moment(connection):
        return stored_channel(connection, channel, at_most)


def load_whole(
    connection: sqlite3.Connection, channel: str, buckets: Collection[str], owners: str
) -> WholeChannel | None:
    """Return the channel with its records and its summary, and the channel that it belongs to."""
    with one_moment(connection):
        whole = _load_whole(connection, channel, buckets)
        if whole is None or owners not in whole.records:
            return whole
        try:
            owner = _load_whole(connection, whole.records[owners].decode(), buckets)
        except (StoreDamaged, UnicodeDecodeError):
            # Told to whoever needs it; it may be in memory, and then nobody does.
            return whole
        return replace(whole, owner=owner)


def _load_whole(
    connection: sqlite3.Connection, channel: str, buckets: Collection[str]
) -> WholeChannel | None:
    stored = stored_channel(connection, channel)
    if stored is None:
        return None
    query = RECORDS_OF.format(wanted=", ".join("?" * len(buckets)))
    rows = connection.execute(query, (channel, *buckets)).fetchall()
    records = {row[0]: _record_value(f"{row[0]} {channel}", row) for row in rows}
    return WholeChannel(stored, session_summary(connection, channel), records)


def stored_channel(
    connection: sqlite3.Connection, channel: str, at_most: int | None = None
) -> StoredChannel | None:
    """Return the channel's snapshot and later entries, within whatever transaction is open."""
    row = connection.execute(LOAD_LAST, (channel,)).fetchone()
    if row is not None and at_most is not None and row[2] > at_most:
        row = connection.execute(LOAD_EARLIER, (channel,)).fetchone()
    if row is None or (at_most is not None and row[2] > at_most):
        return None
    return _read_snapshot(connection, channel, row)


def stored_channel_before(connection: sqlite3.Connection, channel: str) -> StoredChannel | None:
    """Return the channel's snapshot before the last one and what followed, if it is kept."""
    row = connection.execute(LOAD_EARLIER, (channel,)).fetchone()
    return None if row is None else _read_snapshot(connection, channel, row)


def _read_snapshot(connection: sqlite3.Connection, channel: str, row: Row) -> StoredChannel:
    number, kind, seq, state, stored, trimmed_through = row
    tail = connection.execute(TAIL, (channel, number, seq)).fetchall()
    if not is_intact(stored, kind, seq, state):
        raise _damaged(channel, "its snapshot")
    try:
        state = long_state(state)
    except ValueError:
        raise _damaged(channel, "its snapshot") from None
    return StoredChannel(kind, seq, state, tuple(_entries(tail)), trimmed_through)


def channel_positions(connection: sqlite3.Connection, channels: Collection[str]) -> dict[str, int]:
    """Return how far the existing ones of these channels are trimmed."""
    wanted = set(channels)
    query = POSITIONS.format(wanted=", ".join("?" * len(wanted)))
    return dict(connection.execute(query, (*wanted,)).fetchall())


def page_sessions(
    connection: sqlite3.Connection, limit: int, after: tuple[str, str] | None
) -> SessionPage:
    """Return the page that follows the place ``after``."""
    # One more than asked for tells whether another page follows.
    wanted = limit + 1
    if after is None:
        rows = connection.execute(FIRST_PAGE, (wanted,)).fetchall()
    else:
        with one_moment(connection):
            rows = connection.execute(SAME_AGE, (*after, wanted)).fetchall()
            rows += connection.execute(OLDER, (after[0], wanted - len(rows))).fetchall()
    items = [(row[1], row[2]) for row in rows[:limit] if _is_listed(*row)]
    return SessionPage(items, encode_cursor(*rows[limit - 1][:2]) if len(rows) > limit else None)


def session_summary(connection: sqlite3.Connection, session: str) -> bytes | None:
    """Return the summary of one session."""
    query = "SELECT sort_key, uri, summary, checksum FROM session WHERE uri = ?"
    row = connection.execute(query, (session,)).fetchone()
    return None if row is None else _checked(session, row)[2]


def count_sessions(connection: sqlite3.Connection) -> int:
    """Return how many sessions there are."""
    return int(connection.execute("SELECT count(*) FROM session").fetchone()[0])


def blob(connection: sqlite3.Connection, uri: str) -> Blob | None:
    """Return the content under a URI."""
    query = "SELECT uri, owner, content_type, data, checksum FROM blob WHERE uri = ?"
    row = connection.execute(query, (uri,)).fetchone()
    return None if row is None else Blob(*_checked(uri, row)[1:])


def record(connection: sqlite3.Connection, bucket: str, key: str) -> bytes | None:
    """Return the value under one key of a bucket."""
    query = "SELECT bucket, key, value, checksum FROM record WHERE bucket = ? AND key = ?"
    row = connection.execute(query, (bucket, key)).fetchone()
    return None if row is None else _record_value(f"{bucket} {key}", row)


def records(connection: sqlite3.Connection, bucket: str) -> dict[str, bytes]:
    """Return all values of a bucket, in order of their keys."""
    query = "SELECT bucket, key, value, checksum FROM record WHERE bucket = ? ORDER BY key"
    rows = connection.execute(query, (bucket,)).fetchall()
    values: dict[str, bytes] = {}
    for row in rows:
        try:
            values[row[1]] = _record_value(f"{bucket} {row[1]}", row)
        except StoreDamaged:
            _log_left_out(bucket, row[1])
    return values


def _record_value(name: str, row: Row) -> bytes:
    """Return the value of a record, of the row with its checksum."""
    _, _, value = _checked(name, row)
    try:
        return long_record(value)
    except ValueError:
        raise _damaged(name, "its row") from None


def sent_entries(connection: sqlite3.Connection, channel: str) -> list[Append]:
    """Return the entries of the channel's log that a client brought about."""
    return _entries(connection.execute(SENT, (channel,)).fetchall())


def _entries(rows: list[Row]) -> list[Append]:
    """Return the log entries of these rows; ``StoreDamaged`` if one is not as written."""
    entries = []
    for seq, channel, now, action, origin, stored in rows:
        try:
            if stored is not None and stored != entry_checksum(seq, now, action, origin):
                raise _damaged(channel, f"entry {seq} of its log")
            entries.append(Append(seq, channel, long_time(now), action, origin))
        except (TypeError, AttributeError, ValueError):
            # What should be text or bytes is something else by now.
            raise _damaged(channel, f"entry {seq} of its log") from None
    return entries


def _checked(name: str, row: Row) -> Row:
    """Return a row without its checksum, which is its last column."""
    *parts, stored = row
    if not is_intact(stored, *parts):
        raise _damaged(name, "its row")
    return parts


def _is_listed(sort_key: str, uri: str, summary: bytes, stored: int | None) -> bool:
    """Say whether a session's row is intact; the list goes on without one that is not."""
    try:
        intact = stored is None or stored == session_checksum(sort_key, uri, summary)
    except (TypeError, AttributeError):
        # What should be text or bytes is something else by now.
        intact = False
    if not intact:
        _log_left_out("session", uri)
    return intact


def _log_left_out(what: str, name: str) -> None:
    log.error("%s %s is damaged in the store and left out", what, ascii(name))


def _damaged(name: str, what: str) -> StoreDamaged:
    return StoreDamaged(
        f"what is stored of {name} is damaged ({what}) and was left as it is; whoever runs "
        "the host can check all of it (doctor --deep) and put a backup back"
    )
