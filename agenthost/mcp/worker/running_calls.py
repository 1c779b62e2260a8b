"""The calls that run at a server: which of them a question belongs to, and their patience."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar

from agenthost.mcp.limits import CALL_PATIENCE, MOST_DECLINED, MOST_QUESTIONS

current_call: ContextVar[RunningCall | None] = ContextVar("current_call", default=None)
"""The call in whose name something is sent; over HTTP also what comes back on its response."""


class RunningCall:
    """One call of a tool, while it runs."""

    def __init__(self, call: str) -> None:
        self.id = call
        # Set once nobody waits for its result any more.
        self.over = asyncio.Event()
        # Set once it asked so much that it is ended.
        self.asked_too_much = False
        self._asked = 0
        self._timeout: asyncio.Timeout | None = None
        # How many wait for a person: as long as any does, no time passes.
        self._held = 0

    @contextlib.asynccontextmanager
    async def patience(self) -> AsyncIterator[None]:
        """End the call when it is silent for too long."""
        try:
            async with asyncio.timeout(CALL_PATIENCE) as self._timeout:
                yield
        finally:
            self.over.set()

    @contextlib.contextmanager
    def waiting_for_a_person(self) -> Iterator[None]:
        """Let no time pass meanwhile."""
        self._held += 1
        self.reset_patience()
        try:
            yield
        finally:
            self._held -= 1
            self.reset_patience()

    def reset_patience(self) -> None:
        """Take note that something happened: all of its time is ahead again."""
        if self._timeout is None or self.over.is_set() or self._timeout.expired():
            return
        now = asyncio.get_running_loop().time()
        self._timeout.reschedule(None if self._held else now + CALL_PATIENCE)

    def may_ask(self) -> bool:
        """Count a question, and say whether it may reach a person."""
        self._asked += 1
        if self._asked > MOST_QUESTIONS + MOST_DECLINED:
            self.asked_too_much = True
            if self._timeout is not None and not self.over.is_set():
                self._timeout.reschedule(0)
        return self._asked <= MOST_QUESTIONS


class RunningCalls:
    """All calls that run at one server."""

    def __init__(self) -> None:
        self._running: set[RunningCall] = set()

    @contextlib.contextmanager
    def run(self, call: str) -> Iterator[RunningCall]:
        """Count a call among the running ones; whatever this task sends is sent in its name."""
        running = RunningCall(call)
        self._running.add(running)
        current_call.set(running)
        try:
            yield running
        finally:
            running.over.set()
            self._running.discard(running)

    def asking(self) -> list[RunningCall]:
        """Return the calls in whose name a question may have come."""
        if (known := current_call.get()) is not None:
            return [known] if known in self._running else []
        return list(self._running)
