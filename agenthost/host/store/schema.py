"""The tables of the SQLite store, and how an older file becomes a newer one.

Owns every ``CREATE`` and every migration. A change of the schema is one more function at the end
of ``MIGRATIONS``; a file remembers how many of them it has seen in ``PRAGMA user_version``. A
function that has been released is never edited: files made by it exist.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeAlias

from agenthost.host.store.contract import StoreError

Migration: TypeAlias = Callable[[sqlite3.Connection], None]

# "AHPs" in ASCII, kept in the file's header: tells our files from other SQLite databases.
APPLICATION_ID = 0x41485073

TABLES = """
-- Two rows: `reserved`, the last sequence number that may have been used, and `used`, the last one
-- known to be used where the log cannot say so (entries that were dropped, a clean end).
CREATE TABLE sequence (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO sequence VALUES ('reserved', 0), ('used', 0);

-- Numbers strictly between `last` and `first` may have been used and are lost.
CREATE TABLE gap (last INTEGER PRIMARY KEY, first INTEGER NOT NULL);

-- Channels get small numbers, which make the log and its index a good third smaller.
CREATE TABLE channel (
    id INTEGER PRIMARY KEY,
    uri TEXT NOT NULL UNIQUE,
    trimmed_through INTEGER NOT NULL
);

CREATE TABLE snapshot (
    channel INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    seq INTEGER NOT NULL,
    state BLOB NOT NULL
);

CREATE TABLE log (
    seq INTEGER PRIMARY KEY,
    channel INTEGER NOT NULL,
    now TEXT NOT NULL,
    action BLOB NOT NULL,
    origin BLOB
);
-- Every index ends with its table's integer key, so this one is ordered by (channel, seq).
CREATE INDEX log_by_channel ON log (channel);

CREATE TABLE session (
    uri TEXT PRIMARY KEY,
    sort_key TEXT NOT NULL,
    summary BLOB NOT NULL
);
CREATE INDEX session_by_age ON session (sort_key DESC, uri);

CREATE TABLE blob (
    uri TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    content_type TEXT,
    data BLOB NOT NULL
);
CREATE INDEX blob_by_owner ON blob (owner);

CREATE TABLE record (
    bucket TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;
"""


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of the first version."""
    # Not ``executescript``: it would commit the surrounding transaction first.
    lines = (line for line in TABLES.splitlines() if not line.startswith("--"))
    for statement in "\n".join(lines).split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def add_checksums(connection: sqlite3.Connection) -> None:
    """Give every row that holds content a place for its checksum; those there keep none."""
    for table in ("log", "snapshot", "session", "blob", "record"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER")


def keep_earlier_snapshots(connection: sqlite3.Connection) -> None:
    """Make room for the snapshot before the last, in a table of the same shape."""
    connection.execute(
        "CREATE TABLE earlier_snapshot (channel INTEGER PRIMARY KEY, kind TEXT NOT NULL, "
        "seq INTEGER NOT NULL, state BLOB NOT NULL, checksum INTEGER)"
    )


def allow_short_forms(connection: sqlite3.Connection) -> None:
    """Change nothing: what is stored from here on may have a form that older ones cannot read."""


def note_content_version(connection: sqlite3.Connection) -> None:
    """Make room for which form the content has, and for how far bringing it up to one has got."""
    connection.execute(
        # Without a version it is that of the time before this table, or there is no content yet.
        "CREATE TABLE content (version TEXT, becoming TEXT, phase INTEGER NOT NULL, after, "
        "sessions INTEGER NOT NULL, channels INTEGER NOT NULL, done INTEGER NOT NULL, "
        "damaged INTEGER NOT NULL, failed INTEGER NOT NULL)"
    )
    connection.execute("INSERT INTO content VALUES (NULL, NULL, 0, NULL, 0, 0, 0, 0, 0)")


def allow_short_records(connection: sqlite3.Connection) -> None:
    """Change nothing: records that are put from here on may have a form that older ones keep."""


MIGRATIONS: Sequence[Migration] = (
    create_tables,
    add_checksums,
    keep_earlier_snapshots,
    allow_short_forms,
    note_content_version,
    allow_short_records,
)


def check_version(
    connection: sqlite3.Connection, path: str, migrations: Sequence[Migration] = MIGRATIONS
) -> int:
    """Return the schema version of the file.

    Raises:
        StoreError: a newer agenthost wrote it.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    refuse_newer_schema(path, version, migrations)
    return int(version)


def refuse_newer_schema(
    path: str, version: int, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Raise StoreError if a newer agenthost wrote a file of this schema version."""
    if version > len(migrations):
        raise StoreError(
            f"{path} has schema version {version}, but this agenthost knows versions up to "
            f"{len(migrations)}: run the newer agenthost that wrote it"
        )


def migrate(
    connection: sqlite3.Connection, path: str, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring the file to the newest version, one transaction per step.

    Raises:
        StoreError: a newer agenthost wrote it.
    """
    for version in range(check_version(connection, path, migrations), len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            migrations[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
