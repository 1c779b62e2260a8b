"""Agents: what one is, the turn it works in, and those that come with the host."""

from agenthost.agents import content, inputs
from agenthost.agents.api import Agent, AgentError, SessionContext, SlashCommand
from agenthost.agents.llm import from_pydantic_ai
from agenthost.agents.options import option, standard_options
from agenthost.agents.tool_call import Confirmation, ToolCall
from agenthost.agents.turn import Turn

__all__ = [
    "Agent",
    "AgentError",
    "Confirmation",
    "SessionContext",
    "SlashCommand",
    "ToolCall",
    "Turn",
    "content",
    "from_pydantic_ai",
    "inputs",
    "option",
    "standard_options",
]
