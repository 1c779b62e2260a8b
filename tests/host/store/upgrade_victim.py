"""A process that brings a store up until something ends it; run with ``python -m``.

``kill PATH N`` dies of SIGKILL before its N-th statement that is about the store's content, and
``copy PATH`` while it makes the copy. ``full PATH BYTES`` cannot write files longer than that.
Whoever lives to the end prints how many sessions were brought up.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import sys
from typing import NoReturn

from agenthost.host.channels.content_upgrade import StoredModel
from agenthost.host.store import SqliteStore, StoreError, database, upgrade_copy


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("somebody survived SIGKILL")


def die_at(number: int) -> None:
    """Count the statements of the writing connection, the migrations' too, and die at one."""
    connect = database.connect_writer
    seen = 0

    def count(statement: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            die()

    class Counted(sqlite3.Connection):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[arg-type]
            self.set_trace_callback(count)

    def connect_counted(path: str, *, synchronous: str) -> sqlite3.Connection:
        plain = sqlite3.connect

        def counted(*args: object, **options: object) -> sqlite3.Connection:
            return plain(*args, **options, factory=Counted)  # type: ignore[call-overload, no-any-return]

        sqlite3.connect = counted  # type: ignore[assignment]
        try:
            return connect(path, synchronous=synchronous)
        finally:
            sqlite3.connect = plain

    database.connect_writer = connect_counted


def die_copying() -> None:
    """Die when the copy is whole, before it has its name."""
    upgrade_copy.sync_directory = lambda _: die()
    os.rename = lambda *_: die()  # type: ignore[assignment]


async def bring_up(path: str) -> None:
    store = SqliteStore(path)
    store.upgrade_with(StoredModel())
    try:
        async with store:
            report = store.upgrade_report
            print(report.sessions if report is not None else "nothing")
    except StoreError as error:
        print("failed", error)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["kill", path, number]:
            die_at(int(number))
        case ["copy", path]:
            die_copying()
        case ["full", path, limit]:
            # Past this size every write to a file fails, as on a full disk.
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        case _:
            raise SystemExit("usage: kill PATH N | copy PATH | full PATH BYTES")
    asyncio.run(bring_up(path))
