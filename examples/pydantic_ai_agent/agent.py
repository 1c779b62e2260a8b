"""A pydantic-ai agent with a tool, offered by a host: its text, tools and thoughts are shown."""

from __future__ import annotations

import os

from pydantic_ai import Agent, RunContext

from agenthost.agents import Turn, from_pydantic_ai

# Without a key this is only a name; the model is reached with the first message.
MODEL = os.environ.get("EXAMPLE_MODEL", "openai:gpt-6-luna")

weather = Agent(
    name="Weather",
    deps_type=Turn,
    instructions="Answer in one sentence. Ask the tool for the weather; never make it up.",
)


@weather.tool
async def forecast(ctx: RunContext[Turn], city: str) -> str:
    """Tell tomorrow's weather in a city."""
    # Whatever the turn can do, a tool can: this is shown while the agent works.
    await ctx.deps.set_activity(f"Looking at the sky over {city}")
    return f"Tomorrow in {city}: sunny, {15 + len(city)} degrees."


agent = from_pydantic_ai(weather, models=[MODEL], deps=lambda turn: turn)
