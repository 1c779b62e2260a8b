"""Work in the background: named tasks that end with their owner, and threads that nobody awaits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from agenthost.errors import AgentHostError

log = logging.getLogger(__name__)

T = TypeVar("T")


class Tasks:
    """The tasks of one owner."""

    def __init__(self, on_failure: Callable[[Exception], None] | None = None) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        # Is told what a task failed with; without it, that is logged.
        self._on_failure = on_failure

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run work in the background until it ends or the owner closes."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel what still runs and wait for it."""
        # Again and again, because work that is cancelled may start other work to clean up.
        while tasks := [task for task in self._tasks if task is not asyncio.current_task()]:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if self._on_failure is None:
            # What has a sentence for people needs no traceback.
            is_told = isinstance(error, AgentHostError)
            trace = None if is_told else error
            log.error(
                "%s failed%s", task.get_name(), f": {error}" if is_told else "", exc_info=trace
            )
        elif isinstance(error, Exception):
            self._on_failure(error)


def in_own_thread(work: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Do work that may hang in a thread of its own: those that everybody shares are few.

    Neither the event loop nor the process waits for the thread when it ends.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    # Whoever asked may have left.
    done.add_done_callback(lambda _: done.cancelled() or done.exception())

    def tell(finish: Callable[[], None]) -> None:
        if not done.done():
            finish()

    def run() -> None:
        try:
            result = work()
        except Exception as error:
            finish = partial(done.set_exception, error)
        else:
            finish = partial(done.set_result, result)
        with contextlib.suppress(RuntimeError):
            # Unless the loop is closed by now.
            loop.call_soon_threadsafe(tell, finish)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done
