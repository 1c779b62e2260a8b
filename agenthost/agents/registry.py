"""From the word on the command line to an agent: what is built in, and ``module:Class``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from agenthost.agents.api import Agent
from agenthost.agents.demo import Demo
from agenthost.errors import AgentHostError

__all__ = ["BUILT_IN", "UnknownAgent", "load_agent", "load_agents"]

BUILT_IN: dict[str, Callable[[], Agent]] = {Demo.provider: Demo}


class UnknownAgent(AgentHostError):
    """An agent was asked for that cannot be had; the message says why."""


def load_agent(spec: str) -> Agent:
    """Make the agent that a word names: a built-in one, or ``module:Class``."""
    if spec in BUILT_IN:
        return BUILT_IN[spec]()
    module_name, colon, class_name = spec.partition(":")
    if not colon:
        known = ", ".join(BUILT_IN)
        raise UnknownAgent(f"there is no agent {spec!r}; built in: {known}; or say module:Class")
    try:
        made = getattr(importlib.import_module(module_name), class_name)()
    except ImportError as error:
        raise UnknownAgent(f"agent {spec}: {error}") from error
    except AttributeError as error:
        raise UnknownAgent(f"agent {spec}: {module_name} has no {class_name}") from error
    except Exception as error:
        # Whatever somebody else's constructor raises, the person at the terminal needs a sentence.
        raise UnknownAgent(f"agent {spec} cannot be made: {error}") from error
    if not isinstance(made, Agent):
        raise UnknownAgent(f"agent {spec} is no Agent: derive it from agenthost.agents.Agent")
    return made


def load_agents(specs: Sequence[str]) -> list[Agent]:
    """Make all named agents, first the named ones; the demo agent is always there."""
    agents: dict[str, Agent] = {}
    for spec in (*specs, Demo.provider):
        agent = load_agent(spec)
        if agent.provider in agents and spec != Demo.provider:
            raise UnknownAgent(f"two agents are called {agent.provider!r}")
        agents.setdefault(agent.provider, agent)
    return list(agents.values())
