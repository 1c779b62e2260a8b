"""Threads that answer the SQLite store's reads.

They have connections of their own, so that a read does not wait for the writer. Owns the threads
and those connections. It does not know what is asked; ``queries`` does.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from agenthost.host.store.contract import StoreMisuse
from agenthost.host.store.files import connect_reader, is_undecodable, translated
from agenthost.host.store.thread_starvation import StarvationGuard

# One long read (a chat with a long tail) must not hold up a page of the catalogue.
THREADS = 2

_Parameters = ParamSpec("_Parameters")
_Answer = TypeVar("_Answer")


class ReaderThreads:
    """A few threads with a reading connection each."""

    def __init__(self, path: str, guard: StarvationGuard) -> None:
        self._path = path
        self._guard = guard
        self._executor = ThreadPoolExecutor(THREADS, "store-reader")
        # The connection of the thread that asks.
        self._local = threading.local()
        # All of them, for closing; only ever appended to by the threads.
        self._connections: list[sqlite3.Connection] = []
        self._closed = False

    async def ask(
        self,
        question: Callable[Concatenate[sqlite3.Connection, _Parameters], _Answer],
        *args: _Parameters.args,
        **kwargs: _Parameters.kwargs,
    ) -> _Answer:
        """_Answer a question in one of the threads.

        Raises:
            StoreMisuse: the store is closed.
            StoreError: the answer cannot be read.
        """

        def answer() -> _Answer:
            with translated(self._path):
                connection = self._connection()
                try:
                    return question(connection, *args, **kwargs)
                except sqlite3.OperationalError as error:
                    if not is_undecodable(error):
                        raise
                # Text that is none any more; read as far as it goes, its checksum tells.
                connection.text_factory = _tolerant
                try:
                    return question(connection, *args, **kwargs)
                finally:
                    connection.text_factory = str

        if self._closed:
            raise StoreMisuse("the store is not open")
        self._guard.begin()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, answer)
        finally:
            self._guard.end()

    async def close(self) -> None:
        """Refuse further questions, wait for the answers under way, close the connections."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown)
        for connection in self._connections:
            connection.close()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect_reader(self._path)
            self._connections.append(connection)
        return connection


def _tolerant(text: bytes) -> str:
    return text.decode(errors="replace")
