"""Any pydantic-ai agent as a provider: ``from_pydantic_ai(agent)``.

Importing this needs no pydantic-ai; whoever has such an agent has the package too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.agents.api import Agent, AgentError
from agenthost.agents.llm.models import chosen_model, model_info, thinking_settings
from agenthost.agents.optional_dependencies import load_with_pydantic_ai, require_pydantic_ai
from agenthost.agents.turn import Turn

if TYPE_CHECKING:
    from pydantic_ai.agent import AbstractAgent


def from_pydantic_ai(
    agent: AbstractAgent[Any, Any],
    *,
    provider: str | None = None,
    display_name: str | None = None,
    description: str | None = None,
    models: Sequence[str] = (),
    deps: Callable[[Turn], Any] | None = None,
) -> Agent:
    """Make any pydantic-ai agent a provider: its text, thoughts, tools and approvals are shown.

    ``models`` are pydantic-ai model names that people may choose from, the default one first;
    without any, the agent uses its own. ``deps`` makes the agent's dependencies for each turn.
    """
    require_pydantic_ai()
    name = display_name or agent.name or "Agent"
    return PydanticAiAgent(
        agent,
        provider=provider or _as_provider(name),
        display_name=name,
        description=description or "A pydantic-ai agent",
        models=models,
        deps=deps,
    )


class PydanticAiAgent(Agent):
    """A pydantic-ai agent; made by ``from_pydantic_ai``."""

    # All that it knows is in the chat.
    resumable = True

    def __init__(
        self,
        agent: AbstractAgent[Any, Any],
        *,
        provider: str,
        display_name: str,
        description: str,
        models: Sequence[str],
        deps: Callable[[Turn], Any] | None,
    ) -> None:
        self._agent = agent
        self._deps = deps
        self.provider = provider
        self.display_name = display_name
        self.description = description
        self.models = [model_info(provider, name) for name in models]

    async def run(self, turn: Turn) -> None:
        """Run the agent on one turn."""
        runner = await load_with_pydantic_ai("agenthost.agents.llm.runner")
        deps = self._deps
        run = runner.Run(
            agent=self._agent,
            model=chosen_model(turn, [str(model["id"]) for model in self.models]),
            deps=(lambda bridge: None) if deps is None else (lambda bridge: deps(turn)),
            settings=thinking_settings(turn),
        )
        await runner.run_turn(turn, run)


def _as_provider(name: str) -> str:
    provider = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not provider:
        raise AgentError(f"{name!r} makes no provider id; give one with provider=…")
    return provider
