"""Tools of MCP servers for a model: which it is offered, and what comes of a call.

People are asked as for any other tool. What a server says of a tool of its own is a hint: none
skips the question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ExternalToolset

from agenthost.agents.api import AgentError
from agenthost.agents.approvals import Confirmation
from agenthost.agents.llm.history import clipped, denial
from agenthost.agents.llm.settings import is_autopilot, is_plan_mode
from agenthost.agents.llm.tool_schemas import usable_schema
from agenthost.agents.mcp_calls import run_mcp_call
from agenthost.agents.mcp_tools import OfferedTool
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn import Turn

# Tools of servers that a model is offered: some providers take 128 in all.
MOST_TOOLS: Final = 100
# Characters of a description that a model is told.
LONGEST_DESCRIPTION: Final = 1000


def offered_to_model(
    tools: Sequence[OfferedTool], allows: Callable[[str], bool], taken: Collection[str]
) -> tuple[dict[str, OfferedTool], int]:
    """Return the tools that a model is offered, by name, and how many there are too many."""
    fitting = {tool.name: tool for tool in tools if tool.name not in taken and allows(tool.name)}
    names = list(fitting)[:MOST_TOOLS]
    return {name: fitting[name] for name in names}, len(fitting) - len(names)


def mcp_toolset(turn: Turn, tools: Mapping[str, OfferedTool]) -> list[AbstractToolset[Any]]:
    """Return the tools as a model is told them; while a plan is wanted, none of them."""
    if not tools:
        return []
    toolset = ExternalToolset[Any]([_definition(tool) for tool in tools.values()])
    # What they change nobody here knows.
    return [toolset.filtered(lambda ctx, tool: not is_plan_mode(turn.config))]


def _definition(tool: OfferedTool) -> ToolDefinition:
    about = " ".join([tool.description or tool.title or tool.tool, f"(MCP: {tool.server_label})"])
    return ToolDefinition(
        name=tool.name,
        description=about[:LONGEST_DESCRIPTION],
        parameters_json_schema=usable_schema(tool.input_schema),
        # As its server wrote it: what is left out means something to that.
        strict=False,
    )


async def use_mcp_tool(
    turn: Turn, tool: OfferedTool, call: ToolCall, arguments: str
) -> str | ToolFailed:
    """Ask people, call a tool with arguments as the model wrote them, and say what it brought."""
    if is_plan_mode(turn.config):
        await call.fail("nothing may be changed while a plan is wanted", code="planning")
        return ToolFailed("refused: the user asked for a plan; nothing may be changed now")
    if _object(arguments) is None:
        await call.fail("the arguments are no JSON object", code="badArguments")
        return ToolFailed("the arguments must be a JSON object")
    answer = await _ask(turn, tool, call, arguments)
    if not answer:
        return denial(answer.reason_message, answer.suggestion)
    given = _object(answer.input or arguments)
    if given is None:
        await call.fail("the edited input is not a JSON object", code="badArguments")
        return ToolFailed("The user edited the arguments, but not into a JSON object.")
    try:
        result = await run_mcp_call(turn, tool, call, given)
    except AgentError as error:
        return ToolFailed(str(error))
    text = clipped(result.text) or "done"
    return ToolFailed(text) if result.is_error else text


async def _ask(turn: Turn, tool: OfferedTool, call: ToolCall, arguments: str) -> Confirmation:
    invocation = f"{tool.label} ({tool.server_label})"
    if is_autopilot(turn.config):
        await call.start(arguments, invocation=invocation, by_setting=True)
        return Confirmation(True)
    return await call.confirm(
        f"Let {tool.server_label} run {tool.label}?",
        input=arguments,
        invocation=invocation,
        editable=True,
        mode="everything",
    )


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
