"""One turn of any pydantic-ai agent, from the chat's history to the end of the answer.

Owns the conversation of the turn. How a run is shown is the bridge's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import ReinjectSystemPrompt
from pydantic_ai.messages import ModelMessage, UserContent
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage, UsageLimits
from pydantic_core import to_json

from agenthost.agents.api import AgentError
from agenthost.agents.folders import Folders
from agenthost.agents.llm.error_messages import explain
from agenthost.agents.llm.history import conversation_of
from agenthost.agents.llm.traced_model import traced
from agenthost.agents.llm.turn_bridge import TurnBridge, take_steering
from agenthost.agents.mcp_tools import OfferedTool
from agenthost.agents.turn import Turn


@dataclass(frozen=True, kw_only=True)
class Run:
    """The agent, model, tools and settings that a turn runs with."""

    agent: AbstractAgent[Any, Any]
    # The model to use instead of the agent's own.
    model: Model | str | None = None
    # Makes what the agent's tools depend on; the bridge gives them the calls that are shown.
    deps: Callable[[TurnBridge], Any] = lambda bridge: None
    toolsets: Sequence[AbstractToolset[Any]] = ()
    settings: ModelSettings | None = None
    limits: UsageLimits | None = None
    # Tool name -> how people call it.
    titles: Mapping[str, str] = field(default_factory=dict)
    # Tool name -> what kind of tool it is to programs that show some kinds in their own way.
    kinds: Mapping[str, str] = field(default_factory=dict)
    # Tools that ask, show and end their calls themselves.
    self_driven: Collection[str] = ()
    # Tools whose input is shown as plain text -> the argument that it is.
    plain_inputs: Mapping[str, str] = field(default_factory=dict)
    # Tools of MCP servers, by the names that the model knows them by.
    mcp: Mapping[str, OfferedTool] = field(default_factory=dict)
    # The name of the model, where it is not the one that the message chose.
    model_name: str | None = None
    # The turn's message as the model is to read it, where that is not as it was sent.
    message: Mapping[str, Any] | None = None


async def run_turn(turn: Turn, run: Run) -> None:
    """Answer a turn; raise AgentError when the model cannot."""
    folders = Folders(turn.session.working_directories)
    # Files are read for it.
    history, prompt = await asyncio.to_thread(
        conversation_of, turn, folders, run.plain_inputs, run.message
    )
    async with AsyncExitStack() as stack:
        bridge = TurnBridge(
            turn,
            stack,
            titles=run.titles,
            kinds=run.kinds,
            self_driven=run.self_driven,
            mcp=run.mcp,
            model_name=run.model_name,
        )
        try:
            with traced(run.model, run.agent, turn.tracing) as model:
                await _converse(turn, replace(run, model=model), bridge, history, prompt)
        except Exception as error:
            told = explain(error)
            if told is None:
                raise
            # Not chained: whoever logs it would log what the provider said as well.
            raise told from None


async def _converse(
    turn: Turn,
    run: Run,
    bridge: TurnBridge,
    history: Sequence[ModelMessage],
    prompt: str | Sequence[UserContent],
) -> None:
    usage = _used_so_far(turn)
    said: str | Sequence[UserContent] = prompt
    while True:
        result = await run.agent.run(
            said,
            message_history=history,
            model=run.model,
            deps=run.deps(bridge),
            toolsets=run.toolsets,
            model_settings=run.settings,
            usage_limits=run.limits,
            usage=usage,
            capabilities=[ReinjectSystemPrompt[Any](), bridge],
            infer_name=False,
        )
        if isinstance(result.output, DeferredToolRequests):
            raise AgentError("a tool asked for approval again after it was given", "toolAsksAgain")
        if bridge.answered_by_tool:
            await turn.write(_fenced(result.output))
        history = result.all_messages()
        # Somebody may have spoken during the last step.
        said = await take_steering(turn)
        if not said:
            return


def _used_so_far(turn: Turn) -> RunUsage:
    """Return what a turn has used until it failed; one that only begins has used nothing."""
    used = turn.usage_so_far
    return RunUsage(
        input_tokens=used.get("inputTokens", 0),
        output_tokens=used.get("outputTokens", 0),
        cache_read_tokens=used.get("cacheReadTokens", 0),
    )


def _fenced(output: Any) -> str:
    if isinstance(output, str):
        return output
    return f"```json\n{to_json(output, indent=2, fallback=str).decode()}\n```\n"
