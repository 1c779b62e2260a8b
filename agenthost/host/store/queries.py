"""The SQLite store's reads: one function per question, each on a connection of its own.

Owns the ``SELECT`` statements. It does not know threads; ``readers`` does. A question that takes
several statements asks them in one transaction, so that the answer is of one moment.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterator

from agenthost.host.store.contract import Append, Blob, Page, StoredChannel
from agenthost.host.store.cursors import encode_cursor

__all__ = [
    "blob",
    "channel_positions",
    "count_sessions",
    "load_channel",
    "page_sessions",
    "read_after",
    "record",
    "records",
    "session_summary",
]

# The joins are CROSS so that SQLite goes from the wanted channels into the log's index, and never
# over everything above ``seq``.
READ_AFTER = """
    WITH wanted (uri) AS (VALUES {wanted})
    SELECT log.seq, channel.uri, log.now, log.action, log.origin
    FROM wanted
    CROSS JOIN channel ON channel.uri = wanted.uri
    CROSS JOIN log INDEXED BY log_by_channel ON log.channel = channel.id AND log.seq > ?
    ORDER BY log.seq LIMIT ?
"""
LOAD_CHANNEL = """
    SELECT channel.id, snapshot.kind, snapshot.seq, snapshot.state, channel.trimmed_through
    FROM channel JOIN snapshot ON snapshot.channel = channel.id WHERE channel.uri = ?
"""
TAIL = """
    SELECT seq, now, action, origin FROM log INDEXED BY log_by_channel
    WHERE channel = ? AND seq > ? ORDER BY seq
"""
POSITIONS = "SELECT uri, trimmed_through FROM channel WHERE uri IN ({wanted})"
FIRST_PAGE = "SELECT sort_key, uri, summary FROM session ORDER BY sort_key DESC, uri LIMIT ?"
# A page goes on with the rest of the sessions of equal age, then with the older ones. Two queries,
# because SQLite cannot seek in an index to a place that one condition with OR describes.
SAME_AGE = """
    SELECT sort_key, uri, summary FROM session
    WHERE sort_key = ? AND uri > ? ORDER BY uri LIMIT ?
"""
OLDER = """
    SELECT sort_key, uri, summary FROM session
    WHERE sort_key < ? ORDER BY sort_key DESC, uri LIMIT ?
"""
NO_LIMIT = -1


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
    return [Append(*row) for row in connection.execute(query, (*wanted, seq, bound)).fetchall()]


def load_channel(connection: sqlite3.Connection, channel: str) -> StoredChannel | None:
    """Return the channel's snapshot and later entries."""
    with one_moment(connection):
        row = connection.execute(LOAD_CHANNEL, (channel,)).fetchone()
        if row is None:
            return None
        number, kind, seq, state, trimmed_through = row
        tail = connection.execute(TAIL, (number, seq)).fetchall()
    entries = tuple(Append(entry[0], channel, *entry[1:]) for entry in tail)
    return StoredChannel(kind, seq, state, entries, trimmed_through)


def channel_positions(connection: sqlite3.Connection, channels: Collection[str]) -> dict[str, int]:
    """Return how far the existing ones of these channels are trimmed."""
    wanted = set(channels)
    query = POSITIONS.format(wanted=", ".join("?" * len(wanted)))
    return dict(connection.execute(query, (*wanted,)).fetchall())


def page_sessions(
    connection: sqlite3.Connection, limit: int, after: tuple[str, str] | None
) -> Page:
    """Return the page that follows the place ``after``."""
    # One more than asked for tells whether another page follows.
    wanted = limit + 1
    if after is None:
        rows = connection.execute(FIRST_PAGE, (wanted,)).fetchall()
    else:
        with one_moment(connection):
            rows = connection.execute(SAME_AGE, (*after, wanted)).fetchall()
            rows += connection.execute(OLDER, (after[0], wanted - len(rows))).fetchall()
    items = [(uri, summary) for _, uri, summary in rows[:limit]]
    return Page(items, encode_cursor(*rows[limit - 1][:2]) if len(rows) > limit else None)


def session_summary(connection: sqlite3.Connection, session: str) -> bytes | None:
    """Return the summary of one session."""
    return _value(connection, "SELECT summary FROM session WHERE uri = ?", session)


def count_sessions(connection: sqlite3.Connection) -> int:
    """Return how many sessions there are."""
    return int(connection.execute("SELECT count(*) FROM session").fetchone()[0])


def blob(connection: sqlite3.Connection, uri: str) -> Blob | None:
    """Return the content under a URI."""
    query = "SELECT owner, content_type, data FROM blob WHERE uri = ?"
    row = connection.execute(query, (uri,)).fetchone()
    return None if row is None else Blob(*row)


def record(connection: sqlite3.Connection, bucket: str, key: str) -> bytes | None:
    """Return the value under one key of a bucket."""
    query = "SELECT value FROM record WHERE bucket = ? AND key = ?"
    return _value(connection, query, bucket, key)


def records(connection: sqlite3.Connection, bucket: str) -> dict[str, bytes]:
    """Return all values of a bucket, in order of their keys."""
    query = "SELECT key, value FROM record WHERE bucket = ? ORDER BY key"
    return dict(connection.execute(query, (bucket,)).fetchall())


def _value(connection: sqlite3.Connection, query: str, *parameters: str) -> bytes | None:
    row = connection.execute(query, parameters).fetchone()
    if row is None:
        return None
    value: bytes = row[0]
    return value
