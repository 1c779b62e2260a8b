"""Agents: what one is, the turn it works in, and those that come with the host."""

from typing import TYPE_CHECKING, Any

from agenthost.agents import content, inputs
from agenthost.agents.api import Agent, AgentError, SessionContext, SlashCommand
from agenthost.agents.approvals import Confirmation, option, standard_options
from agenthost.agents.background_work import BackgroundWork
from agenthost.agents.canvas import Canvas
from agenthost.agents.file_edit import Denied, Edited
from agenthost.agents.invocations import Invocation, read_invocation
from agenthost.agents.mcp_calls import begin_mcp_call, run_mcp_call
from agenthost.agents.mcp_results import McpResult
from agenthost.agents.mcp_tools import BridgeAddress, McpServerInfo, OfferedTool, TurnMcp
from agenthost.agents.terminal_run import TerminalRun
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn import Turn
from agenthost.agents.turn_customizations import (
    CustomAgent,
    GlobRule,
    Prompt,
    Skill,
    TurnCustomizations,
)
from agenthost.agents.turn_port import AgentTerminal

__all__ = [
    "Agent",
    "AgentError",
    "AgentTerminal",
    "BackgroundWork",
    "BridgeAddress",
    "Canvas",
    "Confirmation",
    "CustomAgent",
    "Denied",
    "Edited",
    "GlobRule",
    "Invocation",
    "McpResult",
    "McpServerInfo",
    "OfferedTool",
    "Prompt",
    "SessionContext",
    "Skill",
    "SlashCommand",
    "TerminalRun",
    "ToolCall",
    "Turn",
    "TurnCustomizations",
    "TurnMcp",
    "begin_mcp_call",
    "content",
    "from_pydantic_ai",
    "inputs",
    "option",
    "read_invocation",
    "run_mcp_call",
    "standard_options",
]

if TYPE_CHECKING:
    from agenthost.agents.llm import from_pydantic_ai
else:

    def __getattr__(name: str) -> Any:
        # Late, because most agents have nothing to do with models.
        if name != "from_pydantic_ai":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from agenthost.agents.llm import from_pydantic_ai

        return from_pydantic_ai
