"""How fast the SQLite store takes a stream, and how it opens and pages with 100,000 sessions.

The baseline is ``sqlite3`` by hand on the same disk: a commit per entry, and large batches without
an event loop, which is what the store could reach at best.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from agenthost.host.store import Append, Durability, PutRecord, PutSession, SqliteStore, Write

__all__ = ["run"]

DURABILITIES: tuple[Durability, ...] = ("normal", "full")
ENTRIES = 200_000
SESSIONS = 100_000
LONE_COMMITS = 2_000
PAGES = 200
PAGE_SIZE = 50

# Units that the producer lets wait, as a host bounds its queues.
WINDOW = 1024
# The producer gives way to the loop as often as an agent that streams does.
UNITS_PER_TICK = 32

# A streamed delta as it looks in the log.
ACTION = (
    b'{"type":"chat/delta","turnId":"turn-12","partId":"part-3","content":" and so on and so on"}'
)
SUMMARY = b'{"resource":"ahp-session:/x","provider":"demo","title":"Some title"}' * 4
NOW = "2026-01-01T00:00:00.000Z"
CHANNELS = [f"ahp-chat:/3b1f0c52-7d0e-4f57-9f0b-{n:012}" for n in range(8)]


def run() -> None:
    with tempfile.TemporaryDirectory(prefix="agenthost-bench-") as directory:
        place = Path(directory)
        print(f"a stream of {ENTRIES:,} entries of {len(ACTION)} bytes, entries per second")
        _baseline(place)
        for durability in DURABILITIES:
            for size in (1, 16, 256):
                asyncio.run(_stream(place, durability, size))
        print("one commit at a time, from write() to the acknowledgement, milliseconds")
        for durability in DURABILITIES:
            asyncio.run(_lone_commits(place, durability, busy=False))
        asyncio.run(_lone_commits(place, "normal", busy=True))
        print(f"a catalogue of {SESSIONS:,} sessions")
        asyncio.run(_fill_catalogue(place / "catalogue.db"))
        asyncio.run(_read_catalogue(place / "catalogue.db"))


def _baseline(place: Path) -> None:
    for label, batch, count in (
        ("commit per entry", 1, 20_000),
        ("batches of 1024", 1024, ENTRIES),
    ):
        with closing(sqlite3.connect(place / f"plain-{batch}.db", isolation_level=None)) as plain:
            plain.execute("PRAGMA journal_mode = WAL")
            plain.execute("PRAGMA synchronous = NORMAL")
            plain.execute(
                "CREATE TABLE log (seq INTEGER PRIMARY KEY, channel TEXT, now TEXT, action BLOB)"
            )
            plain.execute("CREATE INDEX log_by_channel ON log (channel)")
            started = time.perf_counter()
            for first in range(0, count, batch):
                rows = [(n, CHANNELS[n % 8], NOW, ACTION) for n in range(first, first + batch)]
                plain.execute("BEGIN")
                plain.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", rows)
                plain.execute("COMMIT")
            _print(f"baseline, sqlite3, {label}", count / (time.perf_counter() - started))


async def _stream(place: Path, durability: Durability, size: int) -> None:
    """Stream all entries in units of ``size``; print the rate and the waiting of the units."""
    waits: list[float] = []

    def settled(since: float, _: asyncio.Future[None]) -> None:
        waits.append(time.perf_counter() - since)

    async with SqliteStore(
        place / f"stream-{durability}-{size}.db", durability=durability
    ) as store:
        await store.reserve(ENTRIES + size)
        started = time.perf_counter()
        for first in range(1, ENTRIES + 1, size):
            entries = [Append(n, CHANNELS[n % 8], NOW, ACTION) for n in range(first, first + size)]
            done = store.write(*entries)
            done.add_done_callback(partial(settled, time.perf_counter()))
            if store.pending * size >= WINDOW:
                await done
            elif first // size % UNITS_PER_TICK == 0:
                await asyncio.sleep(0)
        await store.write()
        rate = ENTRIES / (time.perf_counter() - started)
    _print(f"{durability}, units of {size}", rate, waits)


async def _lone_commits(place: Path, durability: Durability, *, busy: bool) -> None:
    """Commit one write after the other, on an idle loop or on one that never pauses."""
    label = f"{durability}, {'saturated' if busy else 'idle'} loop"
    async with SqliteStore(place / f"lone-{durability}-{busy}.db", durability=durability) as store:
        burning = asyncio.create_task(_burn()) if busy else None
        count = LONE_COMMITS // 4 if busy else LONE_COMMITS

        async def commit(n: int) -> None:
            await store.write(PutRecord("bench", "key", b"%d" % n))

        _print(label, None, await _waits(commit, count))
        if burning is not None:
            burning.cancel()


async def _burn() -> None:
    """Keep the loop's thread busy, half a millisecond at a time."""
    while True:
        end = time.perf_counter() + 0.0005
        while time.perf_counter() < end:
            pass
        await asyncio.sleep(0)


async def _fill_catalogue(path: Path) -> None:
    async with SqliteStore(path) as store:
        for first in range(0, SESSIONS, 500):
            await store.write(*(_session(n) for n in range(first, first + 500)))


async def _read_catalogue(path: Path) -> None:
    started = time.perf_counter()
    async with SqliteStore(path) as store:
        opened = time.perf_counter()
        await store.page_sessions(PAGE_SIZE)
        paged = time.perf_counter()
        await store.count_sessions()
        counted = time.perf_counter()
        print(f"  {'open':<44} {(opened - started) * 1e3:10.1f} ms")
        print(f"  {'first page after opening':<44} {(paged - opened) * 1e3:10.1f} ms")
        print(f"  {'count':<44} {(counted - paged) * 1e3:10.1f} ms")
        cursor: str | None = None

        async def page(_: int) -> None:
            nonlocal cursor
            cursor = (await store.page_sessions(PAGE_SIZE, cursor)).next_cursor

        _print(f"pages of {PAGE_SIZE}, one after the other", None, await _waits(page, PAGES))


def _session(n: int) -> Write:
    day = f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}T{n % 24:02}:00:00.000Z"
    return PutSession(f"ahp-session:/3b1f0c52-7d0e-4f57-9f0b-{n:012}", day, SUMMARY)


async def _waits(operation: Callable[[int], Awaitable[None]], count: int) -> list[float]:
    waits = []
    for n in range(count):
        started = time.perf_counter()
        await operation(n)
        waits.append(time.perf_counter() - started)
    return waits


def _print(label: str, rate: float | None, waits: list[float] | None = None) -> None:
    line = f"  {label:<44}"
    if rate is not None:
        line += f" {rate:10,.0f}/s"
    if waits:
        ordered = sorted(waits)
        p50, p99 = (ordered[int(len(ordered) * share)] * 1e3 for share in (0.5, 0.99))
        line += f"   p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   max {ordered[-1] * 1e3:7.2f} ms"
    print(line, flush=True)
