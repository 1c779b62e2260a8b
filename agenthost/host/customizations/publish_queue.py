"""Sessions that are to show other customizations, one after the other, with rests between them.

A folder that hundreds of sessions work in may change at any time, and each of them is told: nobody
else must wait until all were. Those that somebody looks at come first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from agenthost.host.channels.session.kind import SessionChannel
from agenthost.tasks import Tasks


class PublishQueue:
    """The sessions that are due."""

    def __init__(self, tasks: Tasks, publish: Callable[[SessionChannel], None]) -> None:
        self._tasks = tasks
        self._publish = publish
        self._due: dict[str, SessionChannel] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, sessions: Iterable[SessionChannel]) -> None:
        """Publish sessions when it is their turn."""
        self._due |= {session.uri: session for session in sessions}
        if self._due and self._task is None:
            self._task = self._tasks.start(self._run(), "publish customizations")

    def hurry(self, session: SessionChannel) -> None:
        """Publish a session now, if it is due."""
        if self._due.pop(session.uri, None) is not None:
            self._publish(session)

    async def _run(self) -> None:
        try:
            while self._due:
                began = time.monotonic()
                self.hurry(self._next())
                # The host has as long for everybody else.
                await asyncio.sleep(time.monotonic() - began)
        finally:
            self._task = None

    def _next(self) -> SessionChannel:
        waiting = iter(self._due.values())
        first = next(waiting)
        return first if first.in_use else next((each for each in waiting if each.in_use), first)
