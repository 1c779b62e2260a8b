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
from typing import Any, NoReturn
from unittest import mock

from agenthost.host.channels.content_upgrade import StoredModel
from agenthost.host.store import SqliteStore, StoreError, upgrade_parts


def die(*_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("somebody survived SIGKILL")


def die_at(number: int) -> None:
    """Count the statements of the writing connection, the migrations' too, and die at one."""
    connect = sqlite3.connect
    seen = 0

    def count(statement: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            die()

    def connect_counted(where: str, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(where, **options)
        if "mode=rw" in where:
            connection.set_trace_callback(count)
        return connection

    mock.patch("sqlite3.connect", connect_counted).start()


def die_copying() -> None:
    """Die when the copy is whole, before it has its name."""
    mock.patch("os.rename", side_effect=die).start()


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
    # Small batches, so that there are many ends of one.
    upgrade_parts.MOST_ROWS = 5
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
