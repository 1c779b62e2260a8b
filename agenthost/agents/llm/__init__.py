"""Agents on language models: the ``llm`` coding agent, and any pydantic-ai agent as a provider."""

from agenthost.agents.llm.adapter import PydanticAiAgent, from_pydantic_ai
from agenthost.agents.llm.agent import LlmAgent, make_llm_agent

__all__ = ["LlmAgent", "PydanticAiAgent", "from_pydantic_ai", "make_llm_agent"]
