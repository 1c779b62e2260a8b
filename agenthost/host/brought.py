"""What people brought, put together for one turn: its customizations and its MCP servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from agenthost.agents.customized import TurnCustomizations
from agenthost.agents.mcp_tools import TurnMcp
from agenthost.host.channels.chat.turn_facts import TurnFacts
from agenthost.host.customizations.service import SessionCustomizations
from agenthost.host.mcp.servers import McpServers

if TYPE_CHECKING:
    from agenthost.mcp.link import McpBridge
    from agenthost.protocol.common import JsonObject


class Brought:
    """Asks those who bring something for turns, in the one order that is right."""

    def __init__(self, customizations: SessionCustomizations, mcp: McpServers) -> None:
        self._customizations = customizations
        self._mcp = mcp

    async def for_turn(self, turn: TurnFacts) -> tuple[TurnCustomizations, TurnMcp]:
        """Return what a turn is given; AgentError if it cannot begin so."""
        # First, because it finds out which servers are declared.
        customizations = await self._customizations.for_turn(turn.session, turn.agent_uri)
        await self._mcp.prepare_turn(turn)
        return customizations, self._mcp.for_turn(turn)

    def turn_ended(self, chat: str, turn_id: str) -> None:
        """Give up what is under way for a turn that is over."""
        self._mcp.turn_ended(chat, turn_id)

    async def open_bridge(
        self,
        name: str,
        tools: Callable[[], Sequence[JsonObject]],
        call: Callable[[str, JsonObject], Awaitable[JsonObject]],
    ) -> McpBridge:
        """Open a local MCP server whose tools are listed and run here; McpFailed if it cannot."""
        return await self._mcp.open_bridge(name, tools, call)

    def on_tools_changed(self, tell: Callable[[str], None]) -> None:
        """Tell somebody of every session whose servers offer other tools now."""
        self._mcp.on_tools_changed = tell
