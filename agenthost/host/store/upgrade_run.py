"""Bringing the content of a store up to the newest version: in place, in batches, resumable.

Owns the order of the work, and what is put down after each batch so that a killed host goes on
where it was. First everything is copied beside the store. Then each batch is one transaction, with
the place it has reached in the same one. The copy goes when all is done; if something could not be
brought up although it is sound, it stays.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from msgspec.structs import replace

from agenthost.host.store.content_version import ContentRow, check_row, read_row, write_row
from agenthost.host.store.contract import StoreDamaged, StoreError
from agenthost.host.store.files import WAL_BYTES, connect_onlooker, is_unreadable, size_of
from agenthost.host.store.statements import REMEMBER_USED
from agenthost.host.store.upgrade import (
    ContentUpgrade,
    OnUpgrade,
    UpgradeProgress,
    UpgradeReport,
    tell_nobody,
)
from agenthost.host.store.upgrade_copy import copied_schema, copy_path, drop_copy, make_copy
from agenthost.host.store.upgrade_parts import AnyPart, PageUnreadable, parts_of

# Seconds between two reports on how far it has got.
REPORT_EVERY = 1.0

log = logging.getLogger(__name__)


def keep_copy(path: str, upgrade: ContentUpgrade) -> None:
    """Copy a store whose content must be brought up, before anything of it is changed.

    A copy that is there already was left by a start that was killed. It is made again, because an
    older host may have written to the store since; but not once the store itself has a newer
    schema, which no older host opens.
    """
    with closing(connect_onlooker(path)) as connection:
        row = read_row(connection)
        check_row(path, row, upgrade)
        if row.becoming is not None or row.version == upgrade.newest or _is_empty(connection):
            return
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
    copied = copied_schema(path, upgrade.newest)
    if copied is None or copied >= schema:
        make_copy(path, upgrade.newest)


def upgrade_content(
    path: str,
    connection: sqlite3.Connection,
    upgrade: ContentUpgrade,
    tell: OnUpgrade = tell_nobody,
) -> UpgradeReport | None:
    """Bring all content up to the newest version; ``None`` if it is of that one already.

    Raises:
        StoreError: it cannot be done; the next attempt goes on where this one ended.
    """
    row = read_row(connection)
    check_row(path, row, upgrade)
    if row.becoming is None and row.version == upgrade.newest:
        if not row.failed:
            # It may have been killed right before.
            drop_copy(path, upgrade.newest)
        return None
    if row.version is None and _is_empty(connection):
        write_row(connection, ContentRow(upgrade.newest))
        return None
    return _Run(path, connection, upgrade, tell).complete(row)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return all(
        connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is None
        for table in ("snapshot", "session", "record", "log")
    )


class _Run:
    """One attempt at bringing a store up."""

    def __init__(
        self,
        path: str,
        connection: sqlite3.Connection,
        upgrade: ContentUpgrade,
        tell: OnUpgrade,
    ) -> None:
        self._path = path
        self._connection = connection
        self._upgrade = upgrade
        self._tell = tell
        self._version = upgrade.first
        self._started = self._reported = time.monotonic()

    def complete(self, row: ContentRow) -> UpgradeReport:
        """Begin, or go on where an earlier attempt ended, and come to the end."""
        with self._truthful(), self._careful():
            if row.becoming != self._upgrade.newest:
                row = self._begin(row)
            assert row.version is not None, "a run that has begun says what it began with"
            self._version = row.version
            log.info(
                "%s: bringing %d sessions up from %s to %s",
                self._path,
                row.sessions,
                row.version,
                row.becoming,
            )
            self._tell(self._progress(row))
            parts = parts_of(self._connection, self._upgrade, self._version)
            for phase in range(row.phase, len(parts)):
                row = replace(row, phase=phase, after=row.after if phase == row.phase else None)
                row = self._work_through(parts[phase], row)
            return self._end(row)

    @contextmanager
    def _truthful(self) -> Iterator[None]:
        """Tell of a file that is too damaged for this where it is whole, as far as it ever was."""
        try:
            yield
        except sqlite3.Error as error:
            if not is_unreadable(error):
                raise
            newest = self._upgrade.newest
            raise StoreDamaged(
                f"{self._path} is damaged ({error}) and cannot be brought up to protocol {newest}; "
                f"some of it may be already. {copy_path(self._path, newest)} is a copy from "
                "before: move it to the place of the store and run the older agenthost again, or "
                "restore a backup"
            ) from error

    @contextmanager
    def _careful(self) -> Iterator[None]:
        """Wait for the disk at each commit, and read texts that are none any more."""
        connection, factory = self._connection, self._connection.text_factory
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
        connection.execute("PRAGMA synchronous = FULL")
        connection.text_factory = lambda text: text.decode(errors="replace")
        try:
            yield
        finally:
            connection.text_factory = factory
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute(f"PRAGMA synchronous = {synchronous}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _begin(self, row: ContentRow) -> ContentRow:
        begun = ContentRow(
            row.version or self._upgrade.first,
            self._upgrade.newest,
            sessions=self._count("session"),
            channels=self._count("snapshot"),
        )
        with self._transaction():
            # From here on entries of the log go.
            self._connection.execute(REMEMBER_USED)
            write_row(self._connection, begun)
        # So that whoever looks at the file alone sees it too.
        self._checkpoint()
        return begun

    def _work_through(self, part: AnyPart, row: ContentRow) -> ContentRow:
        while rows := part.next_rows(row.after):
            try:
                with self._transaction():
                    batch = part.bring_up(rows)
                    row = replace(
                        row,
                        after=batch.last,
                        done=row.done + (batch.rows if part.holds_channels else 0),
                        damaged=row.damaged + batch.damaged,
                        failed=row.failed + batch.failed,
                    )
                    write_row(self._connection, row)
            except PageUnreadable:
                continue
            if size_of(f"{self._path}-wal") > WAL_BYTES:
                self._checkpoint()
            self._report(row)
        return row

    def _end(self, row: ContentRow) -> UpgradeReport:
        if (self._count("session"), self._count("snapshot")) != (row.sessions, row.channels):
            raise StoreError(
                f"{self._path} does not hold as many sessions as before it was brought up to "
                f"{self._upgrade.newest}; {copy_path(self._path, self._upgrade.newest)} is a copy "
                "from before"
            )
        with self._transaction():
            ended = ContentRow(self._upgrade.newest, damaged=row.damaged, failed=row.failed)
            write_row(self._connection, ended)
        self._checkpoint()
        copy: str | None = copy_path(self._path, self._upgrade.newest)
        if not row.failed:
            drop_copy(self._path, self._upgrade.newest)
            copy = None
        report = UpgradeReport(
            self._version,
            self._upgrade.newest,
            row.sessions,
            row.channels,
            row.damaged,
            row.failed,
            time.monotonic() - self._started,
            copy,
        )
        log.log(
            logging.WARNING if row.damaged or row.failed else logging.INFO,
            "%d sessions are brought up to %s; %d rows are damaged and %d could not be",
            row.sessions,
            self._upgrade.newest,
            row.damaged,
            row.failed,
        )
        self._tell(report)
        return report

    def _report(self, row: ContentRow) -> None:
        if time.monotonic() - self._reported >= REPORT_EVERY:
            self._reported = time.monotonic()
            log.info("%d of %d channels are brought up", row.done, row.channels)
            self._tell(self._progress(row))

    def _progress(self, row: ContentRow) -> UpgradeProgress:
        return UpgradeProgress(
            self._version, self._upgrade.newest, row.sessions, row.done, row.channels
        )

    def _count(self, table: str) -> int:
        """Return how many rows a table has; 0 if a damaged page keeps them from being counted."""
        try:
            return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        except sqlite3.Error as error:
            if not is_unreadable(error):
                raise
            return 0

    def _checkpoint(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
