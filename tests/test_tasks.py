"""Background work: it has a name and an owner, and its failures are told."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from agenthost.tasks import Tasks, in_own_thread


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def test_work_runs_under_its_name() -> None:
    done = asyncio.Event()

    async def work() -> None:
        done.set()

    tasks = Tasks()
    task = tasks.start(work(), "some work")
    assert task.get_name() == "some work"
    await task
    assert done.is_set()
    await tasks.close()


async def test_closing_ends_what_still_runs_and_waits_for_it() -> None:
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    tasks = Tasks()
    running = [tasks.start(work(), f"work {number}") for number in range(2)]
    await asyncio.sleep(0)
    await tasks.close()
    assert cleaned == ["up", "up"]
    assert all(task.cancelled() for task in running)
    await tasks.close()


async def test_closing_ends_what_is_started_while_it_closes() -> None:
    tasks, late = Tasks(), []

    async def work() -> None:
        try:
            await forever()
        finally:
            late.append(tasks.start(forever(), "cleaning up"))

    tasks.start(work(), "work")
    await asyncio.sleep(0)
    await tasks.close()
    assert [task.cancelled() for task in late] == [True]


async def test_work_may_close_its_owner() -> None:
    tasks = Tasks()
    other = tasks.start(forever(), "other")
    await tasks.start(tasks.close(), "closing")
    assert other.cancelled()


async def test_a_failure_is_told_with_its_name_and_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        raise ValueError("boom")

    tasks = Tasks()
    with pytest.raises(ValueError, match="boom"):
        await tasks.start(work(), "some work")
    await asyncio.sleep(0)
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "some work failed")
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)
    await tasks.close()


async def test_a_failure_while_closing_is_told_and_does_not_stop_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        try:
            await forever()
        finally:
            raise ValueError("boom")

    tasks = Tasks()
    tasks.start(work(), "some work")
    other = tasks.start(forever(), "other")
    await asyncio.sleep(0)
    await tasks.close()
    assert other.cancelled()
    assert [record.getMessage() for record in caplog.records] == ["some work failed"]


async def test_ending_and_being_cancelled_are_no_failures(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        return

    tasks = Tasks()
    await tasks.start(work(), "done")
    tasks.start(forever(), "cancelled")
    await tasks.close()
    assert caplog.records == []


async def test_an_owner_that_wants_to_know_is_told_a_failure_instead_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        raise ValueError("boom")

    told: list[Exception] = []
    tasks = Tasks(told.append)
    tasks.start(forever(), "cancelled")
    with pytest.raises(ValueError, match="boom"):
        await tasks.start(work(), "some work")
    await tasks.close()
    assert [str(error) for error in told] == ["boom"]
    assert caplog.records == []


async def test_work_in_its_own_thread_tells_what_came_of_it() -> None:
    assert await in_own_thread(lambda: threading.current_thread().name, "apart") == "apart"

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_own_thread(fail, "apart")


def test_nobody_waits_for_a_thread_that_hangs_and_its_late_end_is_no_error() -> None:
    let_go, ended = threading.Event(), threading.Event()

    def hang() -> None:
        let_go.wait(60)
        ended.set()

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_own_thread(hang, "hangs"), 0.01)

    asyncio.run(leave())
    (thread,) = (each for each in threading.enumerate() if each.name == "hangs")
    let_go.set()
    # Its loop is closed by now; an error would be the run's, which takes none.
    thread.join(60)
    assert ended.is_set()
    assert not thread.is_alive()
