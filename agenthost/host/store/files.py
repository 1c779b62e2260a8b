"""The files of the SQLite store: whether they are sound, how they come to be.

Owns the checks before a file is trusted, creation, and the settings of connections. It does not
know who owns them (``ownership`` does) and what the tables mean (``schema``, ``statements`` and
``queries`` do).

What the start checks is cheap on purpose, since it must not grow with the store: the header, the
schema, and the path to the first entry of every table. Damage deeper inside is found when it is
read, and raises ``StoreDamaged`` then. ``inspection`` is the thorough, slow way.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from agenthost.host.store.contract import StoreDamaged, StoreError
from agenthost.host.store.schema import APPLICATION_ID, check_version, migrate

SQLITE_MAGIC = b"SQLite format 3\x00"
HEADER_BYTES = 100

# A connection waits this long for another one; in WAL mode only recovery and a checkpoint that
# truncates the log hold others up, and both are short.
BUSY_SECONDS = 5.0

# The write-ahead log is copied into the database once it is larger than this, and shrinks to it.
# Large enough to make the copying rare, small enough to be read at once after a crash.
WAL_BYTES = 4 * 1024 * 1024

# Each length of a multi-row insert is a statement of its own; a bigger cache keeps more of them,
# at some 100 KB each.
WRITER_STATEMENTS = 64

ADVICE = (
    "It was not changed. Restore it from a backup, or move it away to start with an empty store; "
    "`sqlite3 FILE .recover` may save what is left."
)


FOREIGN_ERRORS = (sqlite3.Error, OSError)
"""What SQLite and the operating system raise."""


class translated:
    """Turns what SQLite and the operating system raise into the store's own errors."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc, FOREIGN_ERRORS):
            raise translation(self._path, exc) from exc


def translation(path: str, error: sqlite3.Error | OSError) -> StoreError:
    """Return the store's own error for what SQLite or the operating system raised."""
    if isinstance(error, sqlite3.DatabaseError):
        code = getattr(error, "sqlite_errorcode", None)
        # The low byte is the primary code, the rest its details.
        primary = code & 0xFF if code is not None else None
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or is_undecodable(error):
            return StoreDamaged(f"{path} is damaged ({error}). {ADVICE}")
    return StoreError(f"{path}: {error}")


def is_undecodable(error: sqlite3.Error) -> bool:
    """Say whether a text of a row is none any more; there is no code for that."""
    return str(error).startswith("Could not decode to UTF-8")


def is_unreadable(error: sqlite3.Error) -> bool:
    """Say whether SQLite met a page that is damaged."""
    # The low byte is the primary code.
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF == sqlite3.SQLITE_CORRUPT


def prepare_directory(path: str) -> None:
    """Create the directory for the database at ``path`` if there is none, closed to others."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        # The mode is for the last directory only; those above it are not ours to close.
        os.makedirs(directory, mode=0o700, exist_ok=True)
        sync_directory(os.path.dirname(directory))


def prepare_file(path: str) -> None:
    """Create the database if there is none, or check the one there without changing it.

    Raises:
        StoreDamaged: it is not what a store left behind.
        StoreError: it is another program's, or a newer agenthost's.
    """
    if Path(path).exists():
        check_file(path)
    elif size_of(f"{path}-wal"):
        raise StoreDamaged(f"{path} is missing, but {path}-wal is there. {ADVICE}")
    else:
        _create(path)


def check_file(path: str) -> None:
    """Check the beginning of a database without changing it; raises as ``prepare_file`` does."""
    _check_header(path)
    _check_content(path)


def connect_onlooker(path: str) -> sqlite3.Connection:
    """Open a connection that changes nothing, for whoever does not own the store."""
    return _connect(path, "ro")


def connect_writer(path: str, *, synchronous: str) -> sqlite3.Connection:
    """Open the only connection that writes."""
    connection = _connect(path, "rw", cached_statements=WRITER_STATEMENTS)
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreError(f"{path}: this file system does not support a write-ahead log")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        # Matters on macOS only, where a plain fsync does not reach the disk.
        connection.execute("PRAGMA fullfsync = 1")
        # Checkpoints come after the acknowledgement and not inside the commit.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: str) -> sqlite3.Connection:
    """Open a connection that reads beside the writer."""
    connection = _connect(path, "rw")
    connection.execute("PRAGMA query_only = 1")
    return connection


def _connect(path: str, mode: str, cached_statements: int = 128) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(path)}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        # Transactions are begun and ended by hand; the default would begin some by itself.
        isolation_level=None,
        check_same_thread=False,
        cached_statements=cached_statements,
    )


def _create(path: str) -> None:
    """Build the database beside its place and move it there whole.

    So a file under that name is always complete, and an empty one is always damage.
    """
    draft = f"{path}.new"
    for leftover in (draft, f"{draft}-journal"):
        Path(leftover).unlink(missing_ok=True)
    # SQLite gives its other files the mode of the database.
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with contextlib.closing(_connect(draft, "rw")) as connection:
        # Lets a file become smaller again; counts only before anything is written to it.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        migrate(connection, path)
    os.rename(draft, path)
    sync_directory(os.path.dirname(path))


def sync_directory(directory: str) -> None:
    """Make new names in a directory survive power loss."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_header(path: str) -> None:
    # Before SQLite has the file open: closing this descriptor would drop SQLite's locks.
    with open(path, "rb") as file:
        header = file.read(HEADER_BYTES)
    if not header.startswith(SQLITE_MAGIC):
        what = "is empty" if not header else "is not an SQLite database"
        raise StoreDamaged(f"{path} {what}. {ADVICE}")
    if len(header) < HEADER_BYTES:
        raise StoreDamaged(f"{path} ends inside its header. {ADVICE}")


def _check_content(path: str) -> None:
    # Read-only, because closing a writing connection would copy the write-ahead log into a file
    # that may turn out to be damaged.
    with contextlib.closing(_connect(path, "ro")) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        names = [name for (name,) in tables]
        if application_id != APPLICATION_ID:
            raise StoreError(f"{path} is the database of another program; it was not changed")
        check_version(connection, path)
        # Whether a single row is sound is seen by whoever needs it.
        connection.text_factory = bytes
        for name in names:
            connection.execute(f'SELECT * FROM "{name}" LIMIT 1').fetchone()


def size_of(path: str) -> int:
    """Return the size of a file; 0 if there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
