"""Those who bring something for turns, as the runner of turns asks them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from agenthost.agents.customized import TurnCustomizations
from agenthost.agents.mcp_tools import TurnMcp
from agenthost.host.channels.chat.turn_facts import TurnFacts

if TYPE_CHECKING:
    from agenthost.mcp.link import McpBridge
    from agenthost.protocol.common import JsonObject


class Brings(Protocol):
    """What people and their servers bring for turns."""

    async def for_turn(self, turn: TurnFacts) -> tuple[TurnCustomizations, TurnMcp]:
        """Return what a turn is given; AgentError if it cannot begin so."""
        ...

    def turn_ended(self, chat: str, turn_id: str) -> None:
        """Take note that a turn is over, however it ended."""
        ...

    async def open_bridge(
        self,
        name: str,
        tools: Callable[[], Sequence[JsonObject]],
        call: Callable[[str, JsonObject], Awaitable[JsonObject]],
    ) -> McpBridge:
        """Open a local MCP server whose tools are listed and run here; McpFailed if it cannot."""
        ...

    def on_tools_changed(self, tell: Callable[[str], None]) -> None:
        """Tell somebody of every session, by its URI, whose servers offer other tools now."""
        ...
