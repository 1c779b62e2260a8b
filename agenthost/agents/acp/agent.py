"""AcpAgent: a program that speaks the Agent Client Protocol, as an agent of this host.

Does not need the ``acp`` package until a turn runs: whoever offers an agent sees it before.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.agents.acp.settings import Setting, schema_of
from agenthost.agents.api import Agent, AgentError, SessionContext
from agenthost.agents.optional_dependencies import how_to_install
from agenthost.agents.processes import program_environment
from agenthost.agents.turn import Turn

if TYPE_CHECKING:
    from agenthost.agents.acp.sessions.agent_session import AgentSession

# Seconds without a turn after which a session's process is let go.
IDLE_TIMEOUT = 1800.0
# Seconds that an agent gets to stop when its turn is cancelled.
CANCEL_TIMEOUT = 5.0
# Seconds that agents get to end by themselves when the host stops, which takes a second in all.
LAST_PATIENCE = 0.3
# The module that needs the ``acp`` package; importing it takes a good part of a second.
_SESSION_MODULE = "agenthost.agents.acp.sessions.agent_session"


class AcpAgent(Agent):
    """Runs a program that speaks ACP over its standard input and output, one per session."""

    description = "An agent that speaks the Agent Client Protocol"
    uses_mcp = True
    # An agent that can load its sessions goes on in its own; any other is told what it has done.
    resumable = True

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        display_name: str | None = None,
        env: Mapping[str, str] | None = None,
        idle_timeout: float | None = IDLE_TIMEOUT,
        cancel_timeout: float = CANCEL_TIMEOUT,
    ) -> None:
        """Describe an agent; its program is started at a session's first turn.

        Args:
            name: the provider id.
            command: the program and its arguments.
            display_name: how people call it; by default its name.
            env: variables to set besides those of the host, without the host's own secrets.
            idle_timeout: seconds without a turn after which a session's process is let go; None
                keeps it.
            cancel_timeout: seconds that the agent gets to stop when a turn is cancelled; then its
                process is ended.
        """
        if not command:
            raise ValueError("the command of an ACP agent cannot be empty")
        self.provider = name
        self.display_name = display_name or name
        self._command = tuple(command)
        self._env = dict(env or {})
        self._idle_timeout = idle_timeout
        self._cancel_timeout = cancel_timeout
        self._sessions: dict[str, AgentSession] = {}
        # Disposed of, with a process that is on its way out.
        self._ending: set[AgentSession] = set()
        # What the agent offered to choose when it last opened a session; None before the first.
        self._settings: Mapping[str, Setting] | None = None

    async def start_session(self, session: SessionContext) -> None:
        """Make sure that the ACP package is there; the program is started at the first turn."""
        await self._load()

    async def run(self, turn: Turn) -> None:
        """Let the session's process work on the turn; start it if it does not run."""
        await self._load()
        session = self._sessions.get(turn.session.session)
        if session is None:
            session = self._sessions[turn.session.session] = self._new_session()
        await session.run(turn)

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        """Return what the agent offers to choose, or free words while it never ran."""
        return schema_of(self._settings)

    async def complete_config(
        self, setting: str, query: str, values: Mapping[str, Any], working_directory: str | None
    ) -> Sequence[Mapping[str, Any]]:
        """Offer what the agent offered when it last opened a session."""
        known = (self._settings or {}).get(setting)
        return [
            {"value": choice.value, "label": choice.label}
            | ({"description": choice.description} if choice.description else {})
            for choice in (known.choices if known is not None else ())
        ]

    async def end_session(self, session: str) -> None:
        """End the process of a session that is disposed."""
        ended = self._sessions.pop(session, None)
        if ended is not None:
            self._ending.add(ended)
            await ended.close()
            # Not where that is cancelled: it goes on, and the end of the host waits for it.
            self._ending.discard(ended)

    async def close(self) -> None:
        """End all processes."""
        sessions, self._sessions = [*self._sessions.values(), *self._ending], {}
        await asyncio.gather(*(session.close(LAST_PATIENCE) for session in sessions))

    async def _load(self) -> None:
        """Import what speaks ACP, once, and in a thread."""
        if _SESSION_MODULE in sys.modules:
            return
        try:
            await asyncio.to_thread(importlib.import_module, _SESSION_MODULE)
        except ModuleNotFoundError as error:
            raise AgentError(
                f"{self.display_name} needs: {how_to_install('acp')}", "notInstalled"
            ) from error

    def _new_session(self) -> AgentSession:
        from agenthost.agents.acp.sessions.agent_session import AgentSession, Program

        program = Program(
            self.display_name,
            self._command,
            program_environment(self._env),
            self._idle_timeout,
            self._cancel_timeout,
        )
        return AgentSession(program, self._learn)

    def _learn(self, settings: Mapping[str, Setting]) -> None:
        self._settings = dict(settings)
