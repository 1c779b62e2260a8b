"""In which form a file's content is, and how far bringing it up to another one has got.

Owns the table ``content``, which has one row. The store does not know what the versions mean; who
opens it says which ones it knows. A file that a newer agenthost wrote is refused before anything
of it, or beside it, is touched.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import Protocol
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import astuple

from agenthost.host.store.contract import StoreError
from agenthost.host.store.schema import refuse_newer_schema
from agenthost.host.store.store_lock import is_owned_here

COLUMNS = "version, becoming, phase, after, sessions, channels, done, damaged, failed"


class Versions(Protocol):
    """Which forms of content are known."""

    @property
    def newest(self) -> str:
        """The form that this agenthost works with."""
        ...

    def knows(self, version: str) -> bool:
        """Say whether content of a version can be brought up to the newest."""
        ...


class ContentRow(Struct, frozen=True):
    """What a file says of its content."""

    # ``None`` where nobody has said so yet.
    version: str | None = None
    # Set while the content is on its way to another version: part of it has that one already.
    becoming: str | None = None
    # Where that has got: which part is at work, and the last key of it that is done.
    phase: int = 0
    after: bytes | int | None = None
    # How much there was at its beginning, and how many of the channels are done.
    sessions: int = 0
    channels: int = 0
    done: int = 0
    # What was left as it is: because it cannot be read, or because it could not be brought up.
    damaged: int = 0
    failed: int = 0


def read_row(connection: sqlite3.Connection) -> ContentRow:
    """Return what a file says of its content; one of an older schema says nothing."""
    has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'content'").fetchone()
    row = connection.execute(f"SELECT {COLUMNS} FROM content").fetchone() if has_table else None
    return ContentRow() if row is None else ContentRow(*row)


def write_row(connection: sqlite3.Connection, row: ContentRow) -> None:
    """Put down what is known of the content."""
    values = astuple(row)
    places = ", ".join("?" * len(values))
    connection.execute(f"UPDATE content SET ({COLUMNS}) = ({places})", values)


def refuse_newer(path: str, versions: Versions | None) -> None:
    """Raise StoreError if a newer agenthost wrote the file; nothing is touched to find out.

    An ordinary connection would not do: it makes files beside the database. What this one cannot
    tell, because it is still in the write-ahead log, ``check_row`` finds later.
    """
    if not os.path.exists(path) or is_owned_here(path):
        return
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_connect_untouching(path)) as file:
        (schema,) = file.execute("PRAGMA user_version").fetchone()
        refuse_newer_schema(path, schema)
        if versions is not None:
            check_row(path, read_row(file), versions)


def check_row(path: str, row: ContentRow, versions: Versions) -> None:
    """Raise StoreError if the content has a form that is not known here."""
    for version in (row.version, row.becoming):
        if version is not None and not versions.knows(version):
            raise StoreError(
                f"{path} holds sessions of protocol {version}, written by a newer agenthost; "
                f"this one knows up to {versions.newest}. Nothing was changed: run the newer "
                "agenthost"
            )


def _connect_untouching(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)
