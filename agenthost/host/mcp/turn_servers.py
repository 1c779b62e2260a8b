"""What MCP servers offer to one turn, as the turn's agent is given it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.agents.api import AgentError
from agenthost.agents.mcp_tools import McpServerInfo, OfferedTool
from agenthost.agents.tool_names import mcp_tool_names
from agenthost.host.channels.chat.turn_facts import TurnFacts

if TYPE_CHECKING:
    from agenthost.host.mcp.session_server import SessionServer
    from agenthost.protocol.common import JsonMapping


class TurnServers:
    """The servers that were switched on when a turn began; ``call`` is for the host's loop."""

    def __init__(self, turn: TurnFacts, servers: Sequence[SessionServer]) -> None:
        self._turn = turn
        self._servers = servers

    @property
    def servers(self) -> Sequence[McpServerInfo]:
        """The servers that are switched on in the session, ready or not; any thread may ask."""
        return [
            McpServerInfo(server.id, server.name, server.fare.kind, server.fare.detail)
            for server in self._servers
        ]

    @property
    def tools(self) -> Sequence[OfferedTool]:
        """The tools of those that are ready; any thread may ask."""
        return offered_tools([each for each in self._servers if each.is_ready_for(self._turn)])

    async def call(self, tool: OfferedTool, call: str, arguments: JsonMapping) -> JsonMapping:
        """Call a tool; AgentError if there is no result."""
        for server in self._servers:
            if server.id == tool.server:
                return await server.call(self._turn, tool.tool, call, dict(arguments))
        raise AgentError(f"there is no MCP server {tool.server_name} any more", "mcpServerGone")


def offered_tools(servers: Sequence[SessionServer]) -> tuple[OfferedTool, ...]:
    """Return the tools of servers that are ready, under the names that models know."""
    found = [(server, tool) for server in servers for tool in server.offered]
    names = mcp_tool_names([(server.id, server.name, tool.name) for server, tool in found])
    return tuple(
        OfferedTool(
            name=name,
            server=server.id,
            server_name=server.name,
            tool=tool.name,
            title=tool.title or tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            read_only=tool.read_only,
            destructive=tool.destructive,
            meta=tool.meta,
        )
        for name, (server, tool) in zip(names, found, strict=True)
    )
