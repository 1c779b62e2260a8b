"""Starting the agent of a session: when its first turn needs it, and once.

An agent may take long to start, and a session that nobody uses should cost nothing, so creating
one starts nothing. Turns of several chats that need the agent at the same time share one start;
a start that failed is tried again by the next turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agenthost.agents.api import Agent, AgentError, SessionContext
from agenthost.host.turns.agent_loops import AgentLoops
from agenthost.tasks import Tasks

# Seconds that an agent may take to start: some fetch themselves from the network first.
START_PATIENCE = 300.0
# Seconds that a start which is given up gets to end, before its agent is to let go of the session.
END_PATIENCE = 5.0
# Seconds of starting after which people are told what they wait for.
WORTH_TELLING = 0.5


class AgentStarts:
    """Which sessions' agents were started by this host, and which are starting."""

    def __init__(self, tasks: Tasks, loops: AgentLoops) -> None:
        self._tasks = tasks
        self._loops = loops
        # Session URI -> the agent that is started for it.
        self._started: dict[str, Agent] = {}
        # Session URI -> its agent's start, while it is under way.
        self._starting: dict[str, asyncio.Task[None]] = {}

    async def ensure(
        self, agent: Agent, session: SessionContext, tell: Callable[[str | None], None]
    ) -> None:
        """Return once the session's agent is started, or raise why it cannot be.

        ``tell`` gets what to show while it takes long, and None afterwards.
        """
        uri = session.session
        if self._started.get(uri) is agent:
            return
        start = self._starting.get(uri)
        if start is None:
            start = asyncio.create_task(self._start(agent, session), name=f"start {uri}")
            self._starting[uri] = start
            start.add_done_callback(lambda done: self._done(agent, uri, done))
        await asyncio.wait({start}, timeout=WORTH_TELLING)
        if not start.done():
            tell(f"Starting {agent.display_name}")
            try:
                # A turn that is cancelled takes nothing away from the others that wait.
                await asyncio.wait({start})
            finally:
                tell(None)
        if start.cancelled():
            raise AgentError("the session was disposed while its agent started", "disposed")
        start.result()

    def end(self, agent: Agent, session: str, *, had_turns: bool) -> None:
        """Let an agent go of a session, behind its start; one that it never saw is no concern."""
        start = self._starting.pop(session, None)
        if start is not None or had_turns or session in self._started:
            self._started.pop(session, None)
            self._tasks.start(self._end(agent, session, start), name=f"end {session}")

    def close(self) -> None:
        """Give up on all that is starting, because the host stops."""
        for start in self._starting.values():
            start.cancel()

    def forget(self, agent: Agent) -> None:
        """Know no session any more that an agent was started for, because it is gone."""
        self._started = {uri: one for uri, one in self._started.items() if one is not agent}

    def _done(self, agent: Agent, session: str, start: asyncio.Task[None]) -> None:
        succeeded = not start.cancelled() and start.exception() is None
        if self._starting.get(session) is start:
            del self._starting[session]
            if succeeded:
                self._started[session] = agent

    async def _start(self, agent: Agent, session: SessionContext) -> None:
        try:
            async with asyncio.timeout(START_PATIENCE) as patience:
                await self._loops.call(agent, agent.start_session, session)
        except TimeoutError as error:
            if patience.expired():
                raise AgentError("the agent did not start in time", "timeout") from error
            raise

    async def _end(self, agent: Agent, session: str, start: asyncio.Task[None] | None) -> None:
        if start is not None:
            start.cancel()
            await asyncio.wait({start})
            await self._loops.rest(END_PATIENCE)
        await self._loops.call(agent, agent.end_session, session)
