"""Something that an agent waits for on its loop while the host does it on its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")
_A = TypeVar("_A")


class AgentRequest(Generic[_T]):
    """Something that an agent waits for on its loop while the host does it on its own."""

    def __init__(self, work: Callable[[], Awaitable[_T]]) -> None:
        """Make it on the agent's loop."""
        self._work = work
        self._agents_loop = asyncio.get_running_loop()
        # The agent's side.
        self.answer: asyncio.Future[_T] = self._agents_loop.create_future()
        # The host's side.
        self._task: asyncio.Task[_T] | None = None

    def begin(self) -> asyncio.Task[_T]:
        """Start to do it, on the host's loop."""
        self._task = asyncio.ensure_future(self._run())
        self._task.add_done_callback(self._ended)
        return self._task

    def begin_unseen(self) -> None:
        """Start to do it, on the host's loop, whether its turn is over or not."""
        self.begin()

    def refuse(self) -> None:
        """Tell the agent that its turn is over."""
        self._tell(self._cancel_answer, None)

    def cancel(self) -> None:
        """Stop doing it, on the host's loop; what has ended takes no notice."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> _T:
        return await self._work()

    def _ended(self, task: asyncio.Task[_T]) -> None:
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            self.refuse()
        elif error is not None:
            self._tell(self.answer.set_exception, error)
        else:
            self._tell(self.answer.set_result, task.result())

    def _tell(self, function: Callable[[_A], None], argument: _A) -> None:
        def tell() -> None:
            if not self.answer.done():
                function(argument)

        # The agent's loop may have ended.
        with contextlib.suppress(RuntimeError):
            self._agents_loop.call_soon_threadsafe(tell)

    def _cancel_answer(self, _: None) -> None:
        self.answer.cancel("the turn is over")
