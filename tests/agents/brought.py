"""What people bring to a turn without a host: MCP servers and customizations of a test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agenthost.agents.api import AgentError
from agenthost.agents.mcp_tools import McpServerInfo, OfferedTool
from agenthost.agents.turn_customizations import CustomAgent, GlobRule, Prompt, Skill

__all__ = ["BroughtCustomizations", "BroughtMcp", "a_skill", "a_tool", "text_result"]

Json = dict[str, Any]
Answer = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


def a_tool(name: str = "ask", server: str = "db", **fields: Any) -> OfferedTool:
    """Return a tool of a server."""
    defaults: Json = {"title": name.title(), "description": f"Does {name}", "input_schema": {}}
    given = {**defaults, **fields}
    return OfferedTool(given.pop("as_", f"{server}__{name}"), f"c-{server}", server, name, **given)


def a_skill(name: str, description: str = "", **fields: Any) -> Skill:
    """Return a skill, or with other fields another sort of one."""
    return Skill(f"c-{name}", name, description, f"file:///r/{name}/SKILL.md", **fields)


def text_result(text: str, **fields: Any) -> Json:
    """Return a result of a tool that is one text."""
    return {"content": [{"type": "text", "text": text}], **fields}


class BroughtMcp:
    """MCP servers that answer what a test has laid out."""

    def __init__(self, *tools: OfferedTool, answer: Answer | None = None) -> None:
        self.tools: Sequence[OfferedTool] = tools
        names = dict.fromkeys((tool.server, tool.server_name) for tool in tools)
        self.servers: Sequence[McpServerInfo] = [McpServerInfo(*name, "ready") for name in names]
        # What was called, with which arguments.
        self.called: list[tuple[str, Json]] = []
        self.results: list[Mapping[str, Any] | AgentError] = []
        self.cancelled = asyncio.Event()
        self._answer = answer

    async def call(
        self, tool: OfferedTool, call: str, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        self.called.append((tool.name, dict(arguments)))
        if self._answer is not None:
            try:
                return await self._answer(arguments)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        result = self.results.pop(0)
        if isinstance(result, AgentError):
            raise result
        return result


@dataclass
class BroughtCustomizations:
    """Customizations whose texts a test has laid out, by name, or by name and file."""

    instructions: str = ""
    skills: Sequence[Skill] = ()
    prompts: Sequence[Prompt] = ()
    agent: CustomAgent | None = None
    rules: Sequence[GlobRule] = ()
    texts: dict[str, str] = field(default_factory=dict)
    loaded: list[str] = field(default_factory=list)

    async def load(self, item: Skill | Prompt | GlobRule, file: str | None = None) -> str:
        key = item.name if file is None else f"{item.name}/{file}"
        self.loaded.append(key)
        if key not in self.texts:
            raise AgentError(f"{key} cannot be read: there is no such file", "noCustomization")
        return self.texts[key]
