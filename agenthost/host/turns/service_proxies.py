"""Proxies by which an agent, on its own loop, uses customizations, MCP servers and terminals.

What is awaited crosses to the host's loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from agenthost.agents.mcp_tools import McpServerInfo, OfferedTool, TurnMcp
from agenthost.agents.turn_customizations import (
    CustomAgent,
    GlobRule,
    Prompt,
    Skill,
    TurnCustomizations,
)
from agenthost.agents.turn_port import TerminalEnd

if TYPE_CHECKING:
    from agenthost.host.turns.agent_port import AgentPort
    from agenthost.host.turns.turn_terminals import OpenTerminal, TurnTerminals
    from agenthost.protocol.common import JsonMapping

_T = TypeVar("_T")


class AskHost(Protocol):
    """Has the host do something on its loop, and waits for the result on the agent's."""

    async def __call__(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Return what the host has made of it."""
        ...


class CrossedCustomizations:
    """The customizations of a turn, on its agent's loop."""

    def __init__(self, ask: AskHost, inner: TurnCustomizations) -> None:
        self._ask = ask
        self._inner = inner

    @property
    def instructions(self) -> str:
        """What always applies, in one text."""
        return self._inner.instructions

    @property
    def skills(self) -> Sequence[Skill]:
        """The skills to be loaded on demand."""
        return self._inner.skills

    @property
    def prompts(self) -> Sequence[Prompt]:
        """The prompts that messages may begin with."""
        return self._inner.prompts

    @property
    def agent(self) -> CustomAgent | None:
        """The custom agent that the message chose."""
        return self._inner.agent

    @property
    def rules(self) -> Sequence[GlobRule]:
        """The instructions that apply to some files only."""
        return self._inner.rules

    async def load(self, item: Skill | Prompt | GlobRule, file: str | None = None) -> str:
        """Return the text of something listed here."""
        return await self._ask(lambda: self._inner.load(item, file))


class CrossedMcp:
    """The MCP servers of a turn, on its agent's loop."""

    def __init__(self, ask: AskHost, inner: TurnMcp) -> None:
        self._ask = ask
        self._inner = inner

    @property
    def servers(self) -> Sequence[McpServerInfo]:
        """The servers that are switched on."""
        return self._inner.servers

    @property
    def tools(self) -> Sequence[OfferedTool]:
        """The tools of those that are ready."""
        return self._inner.tools

    async def call(self, tool: OfferedTool, call: str, arguments: JsonMapping) -> JsonMapping:
        """Call a tool and return its result."""
        return await self._ask(lambda: self._inner.call(tool, call, arguments))


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
