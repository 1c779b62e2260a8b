"""A process that writes to a store until something ends it; run with ``python -m``.

Prints ``first N`` once open, ``used N`` before a number is used and ``stored N`` once it is
acknowledged, each in one unbuffered write, so that what was printed is what was known.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from functools import partial

from agenthost.host.store import Append, PutRecord, SaveSnapshot, SqliteStore, StoreError, TrimLog

BLOCK = 500
ENTRIES_PER_UNIT = 3
UNITS_IN_FLIGHT = 40
TRIM_EVERY = 90


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def acknowledged(last: int, done: asyncio.Future[None]) -> None:
    done.result()
    say("stored", last)


async def write_for_ever(path: str) -> None:
    async with SqliteStore(path) as store:
        say("first", store.first_seq)
        seq = store.first_seq
        while True:
            if seq + ENTRIES_PER_UNIT > store.reserved:
                await store.reserve(seq + BLOCK)
            last = seq + ENTRIES_PER_UNIT - 1
            say("used", last)
            entries = [Append(n, "chat:/a", "now", b"x" * 200) for n in range(seq, last + 1)]
            done = store.write(*entries, PutRecord("progress", "last", str(last).encode()))
            done.add_done_callback(partial(acknowledged, last))
            if last % TRIM_EVERY == 0:
                store.write(SaveSnapshot("chat:/a", "chat", last, b"{}"), TrimLog("chat:/a", last))
            if store.pending > UNITS_IN_FLIGHT:
                await done
            seq = last + 1


async def write_until_full(path: str, limit: int) -> None:
    # Past this size every write to a file fails, as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    async with SqliteStore(path) as store:
        for n in range(10_000):
            try:
                await store.write(PutRecord("fill", f"{n:05}", b"x" * 5000))
            except StoreError as error:
                say("failed", error)
                break
            say("stored", n)
        try:
            await store.write(PutRecord("small", "k", b""))
        except StoreError:
            say("refused")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["forever", path]:
            asyncio.run(write_for_ever(path))
        case ["full", path, limit]:
            asyncio.run(write_until_full(path, int(limit)))
