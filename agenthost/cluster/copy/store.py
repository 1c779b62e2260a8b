"""The store that a copy is kept in: hosts read from it, and the copy alone writes and closes it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from types import TracebackType
from typing import Self

from agenthost.host.store import SqliteStore, StoreMisuse, Write
from agenthost.host.store.files import connect_onlooker, translated
from agenthost.host.store.upgrade import ContentUpgrade

LONG_TAILS = """
    SELECT channel.uri, sum(length(log.action)) AS tail
    FROM snapshot JOIN channel ON channel.id = snapshot.channel
    CROSS JOIN log INDEXED BY log_by_channel
        ON log.channel = snapshot.channel AND log.seq > snapshot.seq
    GROUP BY channel.id HAVING tail > ?
"""


class CopyStore(SqliteStore):
    """A store whose numbers are the stream's; to enter and to leave it means nothing."""

    def __init__(self, path: str | os.PathLike[str], upgrade: ContentUpgrade) -> None:
        super().__init__(path, numbers_from_outside=True)
        super().upgrade_with(upgrade)

    async def open(self) -> None:
        """Open the file; raises as ``Store.__aenter__`` does."""
        await super().__aenter__()

    async def close(self) -> None:
        """Make everything durable and close the file, if it is open; it may be opened again.

        Raises:
            StoreError: something could not be stored.
        """
        if self._parts is None:
            return
        try:
            await super().__aexit__(None, None, None)
        finally:
            self._parts = None

    def put(self, *writes: Write) -> asyncio.Future[None]:
        """Queue writes that come from the stream, as one atomic unit."""
        return super().write(*writes)

    async def long_tails(self, least: int) -> dict[str, int]:
        """Return the channels with more bytes of log than that since their snapshots."""
        return await self._open.readers.ask(_long_tails, least)

    async def copy_to(self, path: str) -> None:
        """Write all that is stored to a file that is not there yet, as it is at one moment.

        Raises:
            StoreError: it could not be written.
        """
        # A thread of its own: a long copy must not hold up the few that answer questions.
        await asyncio.to_thread(_copy, self._path, path)

    # What hosts do with a store of their own.

    def upgrade_with(self, upgrade: ContentUpgrade) -> None:
        """Do nothing: the content was brought up when the copy was opened."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def write(self, *writes: Write) -> asyncio.Future[None]:
        """Wait for what was written so far; a host's own writes have no place here."""
        if writes:
            raise StoreMisuse("a copy of the realm is written by its log alone")
        return super().write()


def _long_tails(connection: sqlite3.Connection, least: int) -> dict[str, int]:
    return dict(connection.execute(LONG_TAILS, (least,)).fetchall())


def _copy(source: str, target: str) -> None:
    with translated(target), contextlib.closing(connect_onlooker(source)) as connection:
        # One statement, which lets go of the interpreter; writers go on beside it.
        connection.execute("VACUUM INTO ?", (target,))
