"""The coding agent: instructions, tools, and one run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import pydantic_ai
from pydantic_ai import RunContext
from pydantic_ai.models import Model
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ExternalToolset
from pydantic_ai.usage import UsageLimits

from agenthost.agents.folders import Folders
from agenthost.agents.llm.models import thinking_settings
from agenthost.agents.llm.runner import Run, run_turn
from agenthost.agents.llm.settings import is_autopilot, is_plan_mode
from agenthost.agents.llm.tools import KINDS, TOOLS, ToolContext
from agenthost.agents.llm.turn_bridge import TurnBridge
from agenthost.agents.turn import Turn

# A host has its own things to say when it starts.
pydantic_ai.BANNER_ENABLED = False

# Steps of one turn: far more than a task needs, and an end to one that goes in circles.
MOST_STEPS: Final = 200
# Times that a model may get the arguments of a tool wrong.
TOOL_RETRIES: Final = 3
# What every provider takes as the name of a tool.
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

_INSTRUCTIONS: Final = """\
You are a coding agent. You work on the files in the user's working directory with your tools.
Look before you change: list, search and read what matters first. Make the smallest change that
does what was asked, in the style of the code around it, and check it by running what the project
has for that. The user may refuse an edit or a command and say why: take that as an instruction,
and do not try the same again. Tools refuse paths outside of the working directories.
Answer in short markdown: what you did, and what is left to do."""

_PLANNING: Final = """\
The user wants a plan now: change nothing. Read what you need, then answer with the plan: what to
change where, in which order, how to check it, and what is still to be decided."""
_ALONE: Final = """\
Nobody is there to answer: work to the end by yourself, ask nothing, and where something is
undecided choose what is most sensible and say so in your answer."""


def _instructions(ctx: RunContext[ToolContext]) -> str:
    # In one piece: some local servers take only one system message.
    folders = "\n".join(f"- {path}" for path in ctx.deps.folders.paths) or "(none)"
    pieces = [
        _INSTRUCTIONS,
        f"Working directories; relative paths start in the first:\n{folders}",
    ]
    config = ctx.deps.turn.config
    pieces += [_PLANNING] if is_plan_mode(config) else [_ALONE] if is_autopilot(config) else []
    return "\n\n".join(pieces)


_AGENT: Final[pydantic_ai.Agent[ToolContext, str]] = pydantic_ai.Agent(
    deps_type=ToolContext,
    name="llm",
    instructions=_instructions,
    tools=TOOLS,
    retries={"tools": TOOL_RETRIES},
)


async def answer(turn: Turn, model: Model, titles: Mapping[str, str]) -> None:
    """Work on one turn with a model."""
    folders = Folders(turn.session.working_directories)

    def make_context(bridge: TurnBridge) -> ToolContext:
        return ToolContext(turn, bridge, folders)

    names = {tool.name for tool in TOOLS}
    run = Run(
        agent=_AGENT,
        model=model,
        deps=make_context,
        toolsets=_client_tools(turn, names),
        settings={**thinking_settings(turn), "cache": True},
        limits=UsageLimits(request_limit=MOST_STEPS),
        titles=titles,
        kinds=KINDS,
        self_driven=names,
        plain_inputs={"run_command": "command"},
    )
    await run_turn(turn, run)


def _client_tools(turn: Turn, taken: set[str]) -> list[AbstractToolset[Any]]:
    """Offer the model what attached clients can do, except under names that are taken."""
    offered = [
        ToolDefinition(
            name=name,
            description=tool.get("description") or tool.get("title"),
            parameters_json_schema=dict(tool.get("inputSchema") or _NO_ARGUMENTS),
        )
        for name, tool in turn.client_tools.items()
        if name not in taken and _TOOL_NAME.fullmatch(name)
    ]
    # What a client's tool does nobody here knows: while a plan is wanted it is left out.
    tools = ExternalToolset[Any](offered).filtered(lambda ctx, tool: not is_plan_mode(turn.config))
    return [tools] if offered else []


_NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
