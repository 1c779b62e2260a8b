from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest

from agenthost.host.store import Append, PutRecord, StoreError, StoreMisuse, Write, writer_thread
from agenthost.host.store.sequence import QueuedWrite
from agenthost.host.store.thread_starvation import StarvationGuard
from agenthost.host.store.writer_thread import (
    FEW_BYTES,
    FEW_ENTRIES,
    WRITES_PER_COMMIT,
    WriterThread,
)


class FakeBackend:
    """Remembers its commits; ``gate`` holds them up, ``errors`` are raised one by one."""

    def __init__(self) -> None:
        self.commits: list[list[QueuedWrite]] = []
        self.synced: list[bool] = []
        self.gate = threading.Event()
        self.gate.set()
        self.started = threading.Event()
        self.errors: list[Exception] = []
        self.tidy_error: Exception | None = None
        self.closed = threading.Event()
        self.is_quick = False
        # The thread of each commit.
        self.threads: list[int] = []

    def commit(self, writes: Sequence[QueuedWrite], *, synced: bool) -> None:
        self.threads.append(threading.get_ident())
        self.started.set()
        assert self.gate.wait(60)
        if self.errors:
            raise self.errors.pop(0)
        self.commits.append(list(writes))
        self.synced.append(synced)

    def tidy(self) -> None:
        if self.tidy_error is not None:
            raise self.tidy_error

    def close(self) -> None:
        self.closed.set()


def put(key: object) -> PutRecord:
    return PutRecord("bucket", str(key), b"")


async def started(backend: FakeBackend) -> WriterThread[FakeBackend]:
    writer = WriterThread(lambda: backend, StarvationGuard(asyncio.get_running_loop()))
    assert await writer.start() is backend
    return writer


async def test_what_waits_while_a_commit_runs_shares_the_next_one() -> None:
    backend = FakeBackend()
    writer = await started(backend)
    backend.gate.clear()
    futures = [writer.submit([put(0)])]
    await asyncio.to_thread(backend.started.wait, 10)
    for n in range(1, 6):
        futures.append(writer.submit([put(n)]))
        # Another tick of the loop, so another piece for the thread.
        await asyncio.sleep(0)
    backend.gate.set()
    await asyncio.gather(*futures)
    assert backend.commits == [[put(0)], [put(n) for n in range(1, 6)]]
    await writer.stop()


async def test_a_commit_comes_back_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = FakeBackend()
    writer = await started(backend)
    loop = asyncio.get_running_loop()
    calls: list[object] = []
    real = loop.call_soon_threadsafe

    def counted(callback: Callable[..., object], *args: object) -> asyncio.Handle:
        calls.append(callback)
        return real(callback, *args)

    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
    await asyncio.gather(*(writer.submit([put(n)]) for n in range(100)))
    assert len(backend.commits) == len(calls) == 1
    monkeypatch.undo()
    await writer.stop()


async def test_a_long_backlog_is_committed_in_pieces() -> None:
    backend = FakeBackend()
    writer = await started(backend)
    units = 2 * WRITES_PER_COMMIT + 10
    await asyncio.gather(*(writer.submit([put(n)]) for n in range(units)))
    assert [len(commit) for commit in backend.commits] == [WRITES_PER_COMMIT] * 2 + [10]
    await writer.stop()


async def test_a_unit_is_never_divided() -> None:
    backend = FakeBackend()
    writer = await started(backend)
    large = [put(n) for n in range(WRITES_PER_COMMIT + 1)]
    await asyncio.gather(writer.submit([put("a")]), writer.submit(large), writer.submit([put("b")]))
    assert backend.commits == [[put("a")], large, [put("b")]]
    await writer.stop()


async def test_one_synced_unit_makes_the_whole_commit_synced() -> None:
    backend = FakeBackend()
    writer = await started(backend)
    await asyncio.gather(writer.submit([put(1)]), writer.submit([put(2)], synced=True))
    await writer.submit([put(3)])
    assert backend.synced == [True, False]
    await writer.stop()


async def test_a_barrier_alone_commits_nothing() -> None:
    backend = FakeBackend()
    writer = await started(backend)
    await writer.submit([])
    assert backend.commits == []
    await writer.stop()


async def test_after_a_failure_nothing_is_stored_any_more() -> None:
    backend = FakeBackend()
    writer = await started(backend)
    backend.errors = [OSError("disk on fire")]
    backend.gate.clear()
    first = writer.submit([put(1)])
    await asyncio.to_thread(backend.started.wait, 10)
    # Handed over before the failure is known.
    queued = writer.submit([put(2)])
    await asyncio.sleep(0)
    backend.gate.set()
    for future in (first, queued, writer.submit([put(3)])):
        with pytest.raises(StoreError, match="disk on fire"):
            await future
    assert writer.failure is not None
    with pytest.raises(StoreError, match="disk on fire"):
        await writer.submit([put(4)])
    assert backend.commits == []
    assert writer.pending == 0
    with pytest.raises(StoreError, match="disk on fire"):
        await writer.stop()
    assert backend.closed.is_set()


async def test_a_failure_while_tidying_up_fails_the_next_write_and_not_the_last() -> None:
    backend = FakeBackend()
    backend.tidy_error = StoreError("no space for the checkpoint")
    writer = await started(backend)
    await writer.submit([put(1)])
    with pytest.raises(StoreError, match="checkpoint"):
        await writer.submit([put(2)])
    with pytest.raises(StoreError, match="checkpoint"):
        await writer.stop()


async def test_a_backend_that_does_not_open_ends_the_start() -> None:
    def refuse() -> FakeBackend:
        raise PermissionError("not yours")

    writer = WriterThread(refuse, StarvationGuard(asyncio.get_running_loop()))
    with pytest.raises(StoreError, match="not yours"):
        await writer.start()


async def test_a_cancelled_start_closes_the_backend() -> None:
    backend = FakeBackend()
    opening = threading.Event()

    def open_slowly() -> FakeBackend:
        assert opening.wait(60)
        return backend

    start = asyncio.create_task(
        WriterThread(open_slowly, StarvationGuard(asyncio.get_running_loop())).start()
    )
    await asyncio.sleep(0)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    opening.set()
    assert await asyncio.to_thread(backend.closed.wait, 10)


def entry(seq: int, size: int = 2) -> Append:
    return Append(seq, "ahp-chat:/1", "2026-01-01T00:00:00.000Z", b"x" * size)


async def test_a_few_entries_are_committed_without_the_thread() -> None:
    backend = FakeBackend()
    backend.is_quick = True
    writer = await started(backend)
    done = writer.submit([entry(1), entry(2)])
    assert done.done()
    assert writer.pending == 0
    assert backend.threads == [threading.get_ident()]
    await writer.stop()
    assert backend.commits == [[entry(1), entry(2)]]


@pytest.mark.parametrize(
    ("unit", "synced"),
    [
        ([put(1)], False),
        ([entry(1), put(1)], False),
        ([entry(1)], True),
        ([entry(1, FEW_BYTES + 1)], False),
        ([entry(seq) for seq in range(FEW_ENTRIES + 1)], False),
        ([], False),
    ],
    ids=["record", "entry and record", "synced", "large", "many", "barrier"],
)
async def test_everything_else_is_the_threads(unit: list[Write], synced: bool) -> None:
    backend = FakeBackend()
    backend.is_quick = True
    writer = await started(backend)
    await writer.submit(unit, synced=synced)
    assert threading.get_ident() not in backend.threads
    await writer.stop()


async def test_entries_follow_what_waits_for_the_thread() -> None:
    backend = FakeBackend()
    backend.is_quick = True
    writer = await started(backend)
    backend.gate.clear()
    first = writer.submit([put(0)])
    second = writer.submit([entry(1)])
    assert not second.done()
    backend.gate.set()
    await asyncio.gather(first, second)
    assert [write for commit in backend.commits for write in commit] == [put(0), entry(1)]
    assert threading.get_ident() not in backend.threads
    await writer.stop()


async def test_from_time_to_time_the_thread_commits_because_it_tidies_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_thread, "PAUSE", 0.0)
    monkeypatch.setattr(writer_thread, "COMMITS_BEFORE_TIDYING", 3)
    backend = FakeBackend()
    backend.is_quick = True
    writer = await started(backend)
    for seq in range(1, 6):
        await writer.submit([entry(seq)])
    here = [thread == threading.get_ident() for thread in backend.threads]
    assert here == [True, True, True, False, True]
    await writer.stop()


async def test_after_a_slow_commit_the_thread_commits_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_thread, "PAUSE", 0.0)
    # Every commit counts as slow.
    monkeypatch.setattr(writer_thread, "SLOW_COMMIT", -1.0)
    backend = FakeBackend()
    backend.is_quick = True
    writer = await started(backend)
    monkeypatch.setattr(writer, "_while", 1000.0)
    for seq in range(1, 4):
        await writer.submit([entry(seq)])
    here = [thread == threading.get_ident() for thread in backend.threads]
    assert here == [True, False, False]
    await writer.stop()


async def test_an_entry_that_cannot_be_stored_ends_the_writer() -> None:
    backend = FakeBackend()
    backend.is_quick = True
    backend.errors = [OSError("disk full")]
    writer = await started(backend)
    for seq in (1, 2):
        with pytest.raises(StoreError, match="disk full"):
            await writer.submit([entry(seq)])
    assert backend.commits == []
    with pytest.raises(StoreError, match="disk full"):
        await writer.stop()


async def test_a_stopped_writer_takes_nothing() -> None:
    backend = FakeBackend()
    writer = await started(backend)
    await writer.stop()
    with pytest.raises(StoreMisuse):
        writer.submit([put(1)])


def test_a_loop_that_is_gone_closes_the_backend() -> None:
    backend = FakeBackend()

    async def abandon() -> None:
        writer = await started(backend)
        backend.gate.clear()
        writer.submit([put(1)])
        await asyncio.to_thread(backend.started.wait, 10)

    asyncio.run(abandon())
    backend.gate.set()
    assert backend.closed.wait(60)
