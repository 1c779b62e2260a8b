"""A turn's terminal as its agent sees it, from the agent's loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agenthost.agents.turn_port import TerminalEnd

if TYPE_CHECKING:
    from agenthost.host.turns.agent_port import AgentPort
    from agenthost.host.turns.turn_terminals import OpenTerminal, TurnTerminals


class CrossedTerminal:
    """A terminal on the host's loop; an ``AgentTerminal``."""

    def __init__(
        self, port: AgentPort, terminals: TurnTerminals, opened: OpenTerminal, title: str
    ) -> None:
        self._port = port
        self._terminals = terminals
        self._opened = opened
        self.uri = opened.terminal.uri
        self.title = title

    async def wait(self) -> TerminalEnd:
        """Wait until the command has ended, or goes on in the background."""
        return await self._port.ask(lambda: self._terminals.wait(self._opened))

    async def output(self) -> str:
        """Return the end of what was printed so far."""
        return await self._port.ask(self._opened.output, after_turn=True)

    def end(self) -> None:
        """Begin to end the command."""
        self._port.send(self._opened.kill, after_turn=True)

    async def kill(self) -> None:
        """End the command and wait until it has."""
        await self._port.ask(self._opened.kill, after_turn=True)

    async def run_on(self, label: str) -> asyncio.Future[TerminalEnd]:
        """Let the command outlive the turn; return how it will end."""
        await self._port.ask(lambda: self._terminals.run_on(self._opened, label))
        return self._port.send(self._opened.exited, after_turn=True).answer
