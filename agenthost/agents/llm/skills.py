"""The tool by which a model reads a skill that fits its task, and files that the skill names."""

from __future__ import annotations

from typing import Final

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed

from agenthost.agents import content
from agenthost.agents.api import AgentError
from agenthost.agents.llm.history import clipped
from agenthost.agents.llm.system_prompt import model_skills
from agenthost.agents.llm.tools import ToolContext

# Characters of a skill that a model is told: some twenty-five thousand tokens.
MOST_TEXT: Final = 100_000


async def load_skill(ctx: RunContext[ToolContext], name: str, file: str | None = None) -> str:
    """Read a skill: instructions for one sort of task. Read it before you begin such a task.

    Args:
        name: the skill, as it is listed.
        file: another file of the skill, by its path inside the skill's folder, if its text
            mentions one that you need.
    """
    given = ctx.deps.turn.customizations
    call = ctx.deps.bridge.call(ctx)
    place = name if file is None else f"{name}/{file}"
    shown = {"name": name} if file is None else {"name": name, "file": file}
    await call.start(shown, invocation=f"Read the skill {place}")
    skill = next((each for each in model_skills(given.skills) if each.name == name), None)
    if skill is None:
        names = ", ".join(each.name for each in model_skills(given.skills)) or "none"
        raise ToolFailed(f"there is no skill {name}; there is: {clipped(names, 2000)}")
    try:
        text = clipped(await given.load(skill, file), MOST_TEXT)
    except AgentError as error:
        raise ToolFailed(str(error)) from None
    await call.complete(f"Read the skill {place}", [content.text(clipped(text, 2000))])
    return text
