"""What services bring for a turn, as its agent has it: what is awaited crosses to the host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from agenthost.agents.customized import (
    CustomAgent,
    GlobRule,
    Prompt,
    Skill,
    TurnCustomizations,
)
from agenthost.agents.mcp_tools import McpServerInfo, OfferedTool, TurnMcp

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

    async def call(
        self, tool: OfferedTool, call: str, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Call a tool and return its result."""
        return await self._ask(lambda: self._inner.call(tool, call, arguments))
