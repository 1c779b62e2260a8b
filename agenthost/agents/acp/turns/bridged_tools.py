"""What the agent's program calls over bridges: tools of MCP servers and of clients.

The agent shows its own call of such a tool, and asks for it as it does for any: what the server
demands meanwhile is shown at that call. A call that the agent does not show is shown here.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from agenthost.agents.acp.turns.tool_calls import ShownToolCall
from agenthost.agents.api import AgentError
from agenthost.agents.mcp_calls import begin_mcp_call, call_mcp_tool, run_mcp_call
from agenthost.agents.mcp_tools import CLIENT_BRIDGE, BridgeAddress, OfferedTool
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn import Turn
from agenthost.protocol.markdown import without_code_marks

# How agents title their calls of MCP servers' tools.
_TITLES: Final = (
    re.compile(r"mcp__(?P<server>[^\s`]{1,80}?)__(?P<tool>[^\s`]{1,200})"),
    re.compile(r"(?P<tool>[^\s`]{1,200}) \((?P<server>[^\s`()]{1,80}) MCP Server\)"),
    re.compile(r"(?:Tool: )?(?P<server>[^\s`/:]{1,80})[/.](?P<tool>[^\s`/]{1,200})"),
)
# Seconds that a call over a bridge waits for the agent to show its own one.
PATIENCE: Final = 0.3


class ShownCalls(Protocol):
    """The agent's own calls in a turn."""

    def shown(self) -> Iterable[ShownToolCall]:
        """Return them, the newest last."""
        ...

    async def another(self) -> None:
        """Wait until there is something new of one."""
        ...


def mcp_title(title: str) -> tuple[str, str] | None:
    """Return the server and the tool that the title of a call names; None if it names none."""
    plain = without_code_marks(title).strip()
    found = next((match for each in _TITLES if (match := each.fullmatch(plain))), None)
    return (found["server"], found["tool"]) if found is not None else None


class BridgedTools:
    """The tools that a program reaches over bridges, in one turn."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        # How the agent knows a server -> its id.
        self._servers: dict[str, str] = {}
        self._calls: ShownCalls | None = None

    async def open(self) -> list[BridgeAddress]:
        """Open bridges to what there is; none where there is nothing."""
        if not self._turn.mcp.servers and not self._turn.client_tools:
            return []
        addresses = list(await self._turn.open_bridges(self.run))
        self._servers = {address.name: address.server for address in addresses}
        return addresses

    def follow(self, calls: ShownCalls) -> None:
        """Find the agent's own calls here from now on."""
        self._calls = calls

    def contributor(self, title: str) -> Mapping[str, Any] | None:
        """Return whose tool a call of the agent is, by its title; None for one of its own."""
        named = mcp_title(title)
        if named is None:
            return None
        place = self._servers.get(named[0]), named[1]
        tools = self._turn.mcp.tools
        return next((t.contributor for t in tools if (t.server, t.tool) == place), None)

    async def run(self, server: str, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run what the program called."""
        if server == CLIENT_BRIDGE:
            return await self._run_at_client(tool, arguments)
        tools = self._turn.mcp.tools
        offered = next((t for t in tools if t.server == server and t.tool == tool), None)
        if offered is None:
            raise AgentError(f"there is no tool {tool[:100]} here now", "unknownTool")
        shown = await self._own_call(offered)
        if shown is not None:
            return await call_mcp_tool(self._turn, offered, shown, arguments)
        async with begin_mcp_call(self._turn, offered, input=dict(arguments)) as call:
            await call.start()
            return (await run_mcp_call(self._turn, offered, call, arguments)).raw

    async def _own_call(self, tool: OfferedTool) -> ToolCall | None:
        """Return the call by which the agent shows this one, once it does."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._calls is not None:
                    for view in self._calls.shown():
                        if self._is_of(view, tool) and (call := await view.take_up()) is not None:
                            return call
                    await self._calls.another()
        return None

    def _is_of(self, view: ShownToolCall, tool: OfferedTool) -> bool:
        named = mcp_title(view.said_title)
        if named is None:
            return False
        return (self._servers.get(named[0]), named[1]) == (tool.server, tool.tool)

    async def _run_at_client(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        ended = await self._turn.call_client_tool(tool, dict(arguments))
        blocks = ended.get("content") or ()
        texts = [block for block in blocks if block.get("type") == "text"]
        if ended.get("success"):
            return {"content": [{"type": "text", "text": block["text"]} for block in texts]}
        why = (ended.get("error") or {}).get("message") or "the client's tool failed"
        return {"content": [{"type": "text", "text": str(why)}], "isError": True}
