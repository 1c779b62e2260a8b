"""Where agents run: each on an event loop of its own, in a thread beside the host's loop.

Whatever an agent does there, blocking, looping or leaving, the host goes on. Every call into an
agent's code goes through ``AgentLoops``. There is one loop per agent, not per session: what an
agent shares between its sessions, locks and connections, belongs to one loop. So an agent that
blocks holds up its own turns and nobody else's.

Everything that agents emit, ask for and end with comes back by one queue, the ``Crossing``, so
nothing overtakes anything. It is taken over in batches, once per tick, and no batch keeps the host
from its clients for long.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ParamSpec, Protocol, TypeVar

from msgspec import Struct

from agenthost.agents.api import Agent, AgentError

log = logging.getLogger(__name__)

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Seconds in which an agent answers what a client waits for: what it is, what can be set, whether a
# token is good.
ANSWER_PATIENCE = 10.0
# Seconds that agents get to let go of everything when the host stops, all at once.
CLOSE_PATIENCE = 1.0
# Seconds that an agent's thread gets to end once nothing is asked of it any more.
THREAD_PATIENCE = 0.5
# What is taken over in one tick, of all agents together, and the seconds after which the rest of it
# waits for the next one: in a turn of thousands of parts each action takes a while.
MOST_PER_TICK = 512
LONGEST_TICK = 0.01
# The number of no descriptor.
_NO_BELL = -1


class Batches(Protocol):
    """Whoever gathers what a batch decides, and lets it go when the batch ends."""

    def begin_batch(self) -> None:
        """Gather from now on."""
        ...

    def end_batch(self) -> None:
        """Let go what was gathered."""
        ...


class Crossing:
    """A queue into the host's loop that any thread may post to."""

    def __init__(
        self, batches: Batches | None = None, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = now
        # Told where a batch begins and ends.
        self._batches = batches
        # Appending and taking from the left are atomic: no lock is needed, and nobody waits.
        self._posted: deque[tuple[Callable[[Any], None], object]] = deque()
        # Whether the host will look; cleared before it does, so nothing is left lying.
        self._announced = False
        # What any thread writes to while it is open, and what closes what the host's loop reads.
        self._bell = _NO_BELL
        self._deafen: Callable[[], None] | None = None

    def open(self) -> None:
        """Take what is posted by a shorter way than the loop has, until ``close``.

        A pipe of its own spares each waking of the host a handle, a context and two reads, which in
        a stream of text is a waking per pair of pieces.
        """
        if self._bell != _NO_BELL:
            return
        ear, bell = os.pipe()
        os.set_blocking(ear, False)
        os.set_blocking(bell, False)
        self._loop.add_reader(ear, self._answer, ear)

        def deafen() -> None:
            self._loop.remove_reader(ear)
            os.close(ear)

        self._deafen = deafen
        # Not before the last thread has let go: it might be about to write, and then to whatever
        # has got the number meanwhile.
        weakref.finalize(self, os.close, bell).atexit = False
        self._bell = bell

    def close(self) -> None:
        """Let go of what ``open`` took; what is posted later comes over all the same."""
        if self._deafen is not None:
            self._deafen()
            self._deafen = None
            # Who has rung is not heard any more; who is about to learns that from the pipe.
            self._take()

    def post(self, function: Callable[[_T], None], argument: _T) -> None:
        """Have the host call a function; a host that is gone does nothing."""
        self._posted.append((function, argument))
        if not self._announced:
            self._announced = True
            try:
                os.write(self._bell, b"!")
            except OSError:
                # It is not open, or is no more.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._take)

    def _answer(self, ear: int) -> None:
        # Before looking at what was posted: whoever posts while that goes on rings again.
        try:
            os.read(ear, 64)
        except BlockingIOError:
            # Nobody has rung.
            return
        self._take()

    def _take(self) -> None:
        self._announced = False
        posted = self._posted
        if self._batches is not None:
            self._batches.begin_batch()
        until = self._now() + LONGEST_TICK
        for _ in range(min(len(posted), MOST_PER_TICK)):
            function, argument = posted.popleft()
            try:
                function(argument)
            except Exception:
                log.exception("what an agent asked for failed")
            if posted and self._now() > until:
                break
        if self._batches is not None:
            self._batches.end_batch()
        if posted and not self._announced:
            self._announced = True
            self._loop.call_soon(self._take)


class AgentQuit(Exception):
    """An agent raised what would end a whole process; the cause is what it was."""


class _Outcome(Struct, frozen=True):
    """How a call into an agent ended."""

    result: Any = None
    error: BaseException | None = None

    def get(self) -> Any:
        if isinstance(self.error, asyncio.CancelledError):
            raise AgentError("the agent stopped", "cancelled")
        if self.error is not None and not isinstance(self.error, Exception):
            # An agent's code that calls sys.exit must not take the host with it.
            raise AgentQuit from self.error
        if self.error is not None:
            raise self.error
        return self.result


class _Work:
    """One call into an agent's code: begun and cancelled on its loop, awaited on the host's."""

    def __init__(self, thread: _AgentThread, call: Callable[[], Awaitable[Any]], name: str) -> None:
        self._thread = thread
        self._call = call
        self._name = name
        self._task: asyncio.Task[_Outcome] | None = None
        # The host's side.
        self.done: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self.cancelled = False

    def cancel(self) -> None:
        """Cancel it; it may take its time to end."""
        self.cancelled = True
        self._thread.post(self._cancel)

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)
        self._task.add_done_callback(self._ended)

    async def _run(self) -> _Outcome:
        try:
            return _Outcome(await self._call())
        except BaseException as error:
            # Raised any further, SystemExit and KeyboardInterrupt would end the loop.
            return _Outcome(error=error)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[_Outcome]) -> None:
        cancelled = _Outcome(error=asyncio.CancelledError())
        outcome = cancelled if task.cancelled() else task.result()
        self._thread.crossing.post(self._settle, outcome)

    def _settle(self, outcome: _Outcome) -> None:
        if not self.done.done():
            self.done.set_result(outcome)


class _AgentThread:
    """One agent's loop and the thread that it runs in."""

    def __init__(self, provider: str, crossing: Crossing) -> None:
        self.provider = provider
        self.crossing = crossing
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.new_event_loop()
        self._stopping = False
        # A daemon: an agent that never ends must not keep the process from it.
        threading.Thread(target=self._run, name=f"agent {provider}", daemon=True).start()

    def post(self, function: Callable[[], None]) -> None:
        """Have something done on the agent's loop; one that has ended does nothing."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        """End the loop as soon as it is free."""
        self.post(self._stop)

    def _stop(self) -> None:
        self._stopping = True
        self._loop.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._run_until_stopped()
        try:
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            if tasks:
                waiting = asyncio.wait(tasks, timeout=THREAD_PATIENCE / 2)
                self._loop.run_until_complete(waiting)
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        except BaseException:
            log.warning("the agent %s left something behind", self.provider, exc_info=True)
        finally:
            # Does not wait for jobs in the loop's executor.
            self._loop.close()
            self.crossing.post(self._tell, None)

    def _run_until_stopped(self) -> None:
        while not self._stopping:
            try:
                self._loop.run_forever()
            except BaseException as error:
                # From a task or a callback of the agent's own, as sys.exit() raises it. The loop
                # can go on: all else that is ready is still queued.
                name = type(error).__name__
                log.error("%s in a task of the agent %s is ignored", name, self.provider)

    def _tell(self, _: None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


class AgentLoops:
    """The loops of all agents of a host; made and used on the host's own loop."""

    def __init__(self, agents: Mapping[str, Agent], batches: Batches | None = None) -> None:
        self.crossing = Crossing(batches)
        self._agents = agents
        # Provider -> its thread, started when the agent is first needed.
        self._threads: dict[str, _AgentThread] = {}
        self._at_work: set[_Work] = set()
        # Set when nobody waits for agents any longer.
        self._hurry = asyncio.Event()

    async def call(
        self,
        agent: Agent,
        function: Callable[_P, Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Await a coroutine function of an agent; the one way to call into its code.

        When this is cancelled, the agent is cancelled too and not waited for: see ``rest``.

        Raises:
            AgentQuit: the agent raised SystemExit, KeyboardInterrupt or the like.
            Exception: whatever else it raised.
        """
        thread = self._threads.get(agent.provider)
        if thread is None:
            self.crossing.open()
            thread = self._threads[agent.provider] = _AgentThread(agent.provider, self.crossing)
        name = f"{agent.provider}: {getattr(function, '__name__', 'call')}"
        work = _Work(thread, lambda: function(*args, **kwargs), name)
        self._at_work.add(work)
        work.done.add_done_callback(lambda _: self._at_work.discard(work))
        thread.post(work.begin)
        try:
            outcome = await asyncio.shield(work.done)
        except asyncio.CancelledError:
            work.cancel()
            raise
        result: _T = outcome.get()
        return result

    async def ask(
        self,
        agent: Agent,
        function: Callable[_P, Awaitable[_T]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Await what a client waits for, with a limit: nothing waits for ever.

        Raises:
            AgentError: the agent does not answer; its code takes too long or blocks its loop.
            Exception: as for ``call``.
        """
        try:
            async with asyncio.timeout(ANSWER_PATIENCE) as patience:
                return await self.call(agent, function, *args, **kwargs)
        except TimeoutError:
            if not patience.expired():
                raise
            raise AgentError(f"the agent {agent.provider} does not answer", "timeout") from None

    async def read(
        self, agent: Agent, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Call a plain function of an agent; otherwise as ``ask``."""

        async def answer() -> _T:
            return function(*args, **kwargs)

        return await self.ask(agent, answer)

    async def rest(self, seconds: float) -> None:
        """Wait, bounded, until all that was cancelled has ended."""
        await self._wait({work.done for work in self._at_work if work.cancelled}, seconds)

    def hurry(self) -> None:
        """Wait for agents no longer."""
        self._hurry.set()

    async def close(self) -> None:
        """Let the agents let go of everything, and end their threads; bounded, whatever they do."""
        closing = {
            asyncio.create_task(self._close(agent), name=f"close {agent.provider}")
            for agent in self._agents.values()
        }
        await self._wait(set(closing), CLOSE_PATIENCE)
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        for thread in self._threads.values():
            thread.stop()
        await self._wait({thread.ended for thread in self._threads.values()}, THREAD_PATIENCE)
        for thread in self._threads.values():
            if not thread.ended.done():
                log.warning("the agent %s does not end; it is left behind", thread.provider)
        self.crossing.close()

    async def release(self, agent: Agent) -> None:
        """Let one agent let go of everything and end its thread, bounded; it may come back."""
        await self._wait({asyncio.ensure_future(self._close(agent))}, CLOSE_PATIENCE)
        thread = self._threads.pop(agent.provider, None)
        if thread is not None:
            thread.stop()

    async def _close(self, agent: Agent) -> None:
        try:
            await self.call(agent, agent.close)
        except asyncio.CancelledError:
            log.warning("the agent %s did not close in time", agent.provider)
            raise
        except Exception:
            # Somebody else's clean-up must not keep ours from happening.
            log.exception("the agent %s failed to close", agent.provider)

    async def _wait(self, futures: set[asyncio.Future[_T]], seconds: float) -> None:
        """Wait for all of these, as long as there is time."""
        if not futures:
            return
        hurry = asyncio.create_task(self._hurry.wait(), name="hurry")
        all_done = asyncio.ensure_future(asyncio.wait(futures))
        try:
            await asyncio.wait(
                {all_done, hurry}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            hurry.cancel()
            all_done.cancel()
