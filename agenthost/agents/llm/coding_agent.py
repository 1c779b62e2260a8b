"""The coding agent: instructions, tools, and one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pydantic_ai
from pydantic_ai import RunContext, Tool
from pydantic_ai.models import Model
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ExternalToolset
from pydantic_ai.usage import UsageLimits

from agenthost.agents.folders import Folders
from agenthost.agents.invocations import Invocation
from agenthost.agents.llm.allowed_tools import AllowedTools, allowed_tools
from agenthost.agents.llm.mcp_tool_use import mcp_toolset, offered_to_model
from agenthost.agents.llm.models import thinking_settings
from agenthost.agents.llm.runner import Run, run_turn
from agenthost.agents.llm.settings import is_autopilot, is_plan_mode
from agenthost.agents.llm.skills import load_skill
from agenthost.agents.llm.system_prompt import (
    ALONE,
    LOAD_SKILL,
    PLANNING,
    model_skills,
    system_prompt,
)
from agenthost.agents.llm.tool_schemas import usable_schema
from agenthost.agents.llm.tools import KINDS, TOOLS, ToolContext
from agenthost.agents.llm.turn_bridge import TurnBridge
from agenthost.agents.tool_names import TOOL_NAME
from agenthost.agents.turn import Turn
from agenthost.agents.turn_customizations import CustomAgent, Prompt, Skill

# A host has its own things to say when it starts.
pydantic_ai.BANNER_ENABLED = False

# Steps of one turn: far more than a task needs, and an end to one that goes in circles.
MOST_STEPS: Final = 200
# Times that a model may get the arguments of a tool wrong.
TOOL_RETRIES: Final = 3


def _instructions(ctx: RunContext[ToolContext]) -> str:
    config = ctx.deps.turn.config
    mode = PLANNING if is_plan_mode(config) else ALONE if is_autopilot(config) else None
    folders = [str(path) for path in ctx.deps.folders.paths]
    return system_prompt(folders, ctx.deps.turn.customizations, mode=mode)


async def _prepare_load_skill(
    ctx: RunContext[ToolContext], definition: ToolDefinition
) -> ToolDefinition | None:
    """Offer to read skills where there are any; no agent's file needs to name that."""
    return definition if model_skills(ctx.deps.turn.customizations.skills) else None


_AGENT: Final[pydantic_ai.Agent[ToolContext, str]] = pydantic_ai.Agent(
    deps_type=ToolContext,
    name="llm",
    instructions=_instructions,
    tools=[*TOOLS, Tool(load_skill, name=LOAD_SKILL, prepare=_prepare_load_skill)],
    retries={"tools": TOOL_RETRIES},
)


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What a turn is answered with: its model, and what its message names."""

    model: Model
    # As it is offered, where it is not the one that the message chose.
    model_name: str | None = None
    invocation: Invocation | None = None
    # Told what is worth telling people once in a session.
    tell: Callable[[str], Awaitable[None]]


async def answer(turn: Turn, assignment: Assignment, titles: Mapping[str, str]) -> None:
    """Work on one turn."""
    own = {tool.name for tool in TOOLS} | {LOAD_SKILL}
    allowed = await _allowed(turn, assignment, titles)
    mcp, left_out = offered_to_model(turn.mcp.tools, allowed.allows, own)
    if left_out:
        told = f"{left_out} tools of MCP servers are left out: a model takes only so many."
        await assignment.tell(f"{told} Switch off servers that you do not need.")
    folders = Folders(turn.session.working_directories)

    def make_context(bridge: TurnBridge) -> ToolContext:
        return ToolContext(turn, bridge, folders, allowed)

    run = Run(
        agent=_AGENT,
        model=assignment.model,
        deps=make_context,
        toolsets=[*mcp_toolset(turn, mcp), *_client_tools(turn, allowed, own.union(mcp))],
        settings={**thinking_settings(turn), "cache": True},
        limits=UsageLimits(request_limit=MOST_STEPS),
        titles=titles,
        kinds=KINDS,
        self_driven=own,
        plain_inputs={"run_command": "command"},
        mcp=mcp,
        model_name=assignment.model_name,
        message=assignment.invocation.message if assignment.invocation is not None else None,
    )
    await run_turn(turn, run)


async def _allowed(turn: Turn, assignment: Assignment, titles: Mapping[str, str]) -> AllowedTools:
    """Return the tools that the custom agent uses, or else the prompt that the message names."""
    chosen: CustomAgent | Prompt | Skill | None = turn.customizations.agent
    if chosen is None and assignment.invocation is not None:
        chosen = assignment.invocation.item
    wanted = () if chosen is None or isinstance(chosen, Skill) else chosen.tools
    own = {tool.name: titles.get(tool.name, "") for tool in TOOLS}
    allowed = allowed_tools(wanted, own, turn.client_tools, turn.mcp.tools)
    if allowed.problem is not None and chosen is not None:
        await assignment.tell(f"{chosen.name} names tools that are not here: {allowed.problem}.")
    return allowed


def _client_tools(
    turn: Turn, allowed: AllowedTools, taken: Collection[str]
) -> list[AbstractToolset[Any]]:
    """Offer the model what attached clients can do, except under names that are taken."""
    offered = [
        ToolDefinition(
            name=name,
            description=tool.get("description") or tool.get("title"),
            parameters_json_schema=(
                usable_schema(tool["inputSchema"]) if tool.get("inputSchema") else _NO_ARGUMENTS
            ),
        )
        for name, tool in turn.client_tools.items()
        if name not in taken and allowed.allows(name) and TOOL_NAME.fullmatch(name)
    ]
    # What a client's tool does nobody here knows: while a plan is wanted it is left out.
    tools = ExternalToolset[Any](offered).filtered(lambda ctx, tool: not is_plan_mode(turn.config))
    return [tools] if offered else []


_NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
