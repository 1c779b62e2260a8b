"""The SQLite database as the writer sees it: open, commit, tidy up, close.

Everything here blocks. Owns the writing connection, and the choice of when the
write-ahead log is copied into the database. It does not know the event loop;
``writer_thread`` does.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Sequence
from typing import Literal, Self, TypeAlias

from agenthost.host.store.content_version import refuse_newer
from agenthost.host.store.files import (
    FOREIGN_ERRORS,
    WAL_BYTES,
    connect_writer,
    is_unreadable,
    prepare_directory,
    prepare_file,
    translated,
    translation,
)
from agenthost.host.store.sequence import Opening, QueuedWrite
from agenthost.host.store.statements import Statements, begin_run
from agenthost.host.store.store_lock import Ownership
from agenthost.host.store.upgrade import ContentUpgrade, OnUpgrade, UpgradeReport, tell_nobody
from agenthost.host.store.upgrade_run import keep_copy, upgrade_content

Durability: TypeAlias = Literal["normal", "full"]
"""What an acknowledged write survives: ``normal`` the death of the process, ``full`` power loss."""

# In WAL mode NORMAL writes to the operating system at every commit, and FULL waits for the disk.
SYNCHRONOUS = {"normal": "NORMAL", "full": "FULL"}

# Pages that nothing uses go back to the file system, 64 MB at a time so that closing stays short.
GIVE_BACK = "PRAGMA incremental_vacuum(16384)"

log = logging.getLogger(__name__)


class Database:
    """An open database with its lock; used by one thread at a time."""

    def __init__(
        self,
        path: str,
        ownership: Ownership,
        connection: sqlite3.Connection,
        durability: Durability,
    ) -> None:
        self._path = path
        self._ownership = ownership
        self._connection = connection
        self._durability: Durability = durability
        self._statements = Statements(connection)
        self.opening: Opening = begin_run(connection)
        # What was brought up when it was opened; ``None`` where nothing was.
        self.upgraded: UpgradeReport | None = None

    @classmethod
    def open(
        cls,
        path: str,
        durability: Durability,
        upgrade: ContentUpgrade | None = None,
        tell: OnUpgrade = tell_nobody,
    ) -> Self:
        """Take ownership of the database, creating or checking it, and bring its content up.

        Raises:
            StoreError: it is in use, damaged, not ours, of a newer agenthost, or cannot be reached.
        """
        with translated(path):
            prepare_directory(path)
            refuse_newer(path, upgrade)
            ownership = Ownership(path)
            try:
                if os.path.exists(path):
                    ownership.take_database()
                    prepare_file(path)
                else:
                    prepare_file(path)
                    ownership.take_database()
                if upgrade is not None:
                    keep_copy(path, upgrade)
                connection = connect_writer(path, synchronous=SYNCHRONOUS[durability])
                try:
                    report = None
                    if upgrade is not None:
                        report = upgrade_content(path, connection, upgrade, tell)
                    database = cls(path, ownership, connection, durability)
                    database.upgraded = report
                    return database
                except BaseException:
                    connection.close()
                    raise
            except BaseException:
                ownership.release()
                raise

    @property
    def is_quick(self) -> bool:
        """Whether a small commit does not wait for the disk."""
        return self._durability == "normal"

    def commit(self, writes: Sequence[QueuedWrite], *, synced: bool) -> None:
        """Store the writes in one transaction.

        Raises:
            StoreError: none of them is stored.
        """
        # A failure may leave the transaction open; closing rolls it back, and nothing else follows.
        try:
            if synced and self._durability == "normal":
                self._commit_synced(writes)
            else:
                self._statements.commit(writes)
        except FOREIGN_ERRORS as error:
            # What `translated` does. Every commit comes along here, and this costs it nothing.
            raise translation(self._path, error) from error

    def tidy(self) -> None:
        """Copy the write-ahead log into the database once it is long.

        PASSIVE does not wait for readers. If one of them still needs the log, it grows on, and
        the next commit tries again.
        """
        with translated(self._path):
            if os.stat(f"{self._path}-wal").st_size > WAL_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def close(self) -> None:
        """Close the database and give up its ownership."""
        try:
            with translated(self._path):
                if not self._connection.in_transaction:
                    self._give_back()
                # As the last connection it copies the write-ahead log and removes it.
                self._connection.close()
        finally:
            self._ownership.release()

    def _give_back(self) -> None:
        try:
            # It gives back one page per step, and ``execute`` would take one step only.
            self._connection.executescript(GIVE_BACK)
        except sqlite3.DatabaseError as error:
            # Nobody needs what is there, and everything else is stored: this is a clean end.
            if not is_unreadable(error):
                raise
            log.warning("%s: pages cannot be given back: %s", self._path, error)

    def _commit_synced(self, writes: Sequence[QueuedWrite]) -> None:
        self._connection.execute("PRAGMA synchronous = FULL")
        self._statements.commit(writes)
        self._connection.execute("PRAGMA synchronous = NORMAL")
