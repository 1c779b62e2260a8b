from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from agenthost.host.store.thread_starvation import REST_SECONDS, StarvationGuard


class Timers:
    """Stands in for the event loop: a timer fires when the test says so."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []
        self.rests: list[float] = []
        self.guard = StarvationGuard(cast(asyncio.AbstractEventLoop, self), rest=self.rests.append)

    def call_later(self, delay: float, callback: Callable[[], None]) -> None:
        self.due.append(callback)

    def fire(self) -> None:
        (callback,) = self.due
        self.due.clear()
        callback()


def test_the_loop_rests_while_a_worker_reports_nothing() -> None:
    timers = Timers()
    timers.guard.begin(2)
    timers.fire()
    timers.fire()
    assert timers.rests == [REST_SECONDS, REST_SECONDS]


def test_the_loop_does_not_rest_while_there_is_progress() -> None:
    timers = Timers()
    timers.guard.begin(3)
    for _ in range(2):
        timers.guard.end()
        timers.fire()
    assert timers.rests == []


def test_no_timer_runs_while_nothing_is_in_hand() -> None:
    timers = Timers()
    timers.guard.begin()
    timers.guard.end()
    timers.fire()
    assert (timers.due, timers.rests) == ([], [])


def test_there_is_one_timer_however_much_is_in_hand() -> None:
    timers = Timers()
    for _ in range(5):
        timers.guard.begin()
    assert len(timers.due) == 1
