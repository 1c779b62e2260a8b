"""The ``llm`` agent: a coding agent on whatever model is configured.

Importing this needs no pydantic-ai; what does is imported when a session starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from agenthost.agents.api import Agent, AgentError, SessionContext
from agenthost.agents.invocations import read_invocation
from agenthost.agents.llm.models import LlmSettings, make_model, model_info, wanted_model
from agenthost.agents.llm.settings import SETTINGS
from agenthost.agents.optional_dependencies import (
    NO_PYDANTIC_AI,
    has_pydantic_ai,
    load_with_pydantic_ai,
)
from agenthost.agents.turn import Turn

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_TITLES: Final = {
    "list_files": "List files",
    "read_file": "Read file",
    "search_files": "Search files",
    "edit_file": "Edit file",
    "run_command": "Run command",
    "load_skill": "Read skill",
}
_DESCRIPTIONS: Final = {
    "list_files": "Lists a folder",
    "read_file": "Reads a text file",
    "search_files": "Searches text files for a regular expression",
    "edit_file": "Changes or creates a text file, after asking",
    "run_command": "Runs a shell command, after asking",
    "load_skill": "Reads a skill that fits the task",
}


# Different things that people of one session are told once.
MOST_NOTICES: Final = 20


class LlmAgent(Agent):
    """Works on the session's files with any model that pydantic-ai can reach."""

    provider = "llm"
    display_name = "LLM"
    description = "A coding agent on the model of your choice"
    # All that it knows is in the chat.
    resumable = True
    uses_mcp = True
    tools = tuple(
        {"name": name, "title": title, "description": _DESCRIPTIONS[name]}
        for name, title in _TITLES.items()
    )
    capabilities: Mapping[str, Any] = {
        "multipleChats": {"fork": True, "sideChat": True},
        # Every turn looks at the folders anew.
        "multipleWorkingDirectories": {"primaryReplacement": True},
    }

    def __init__(
        self,
        models: Sequence[str | Model] | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        """Offer some models, the default one first; by default what the environment names.

        ``base_url`` and ``api_key`` are for models without a provider, and those of ``openai:``.
        """
        # Made when they are first used, so that a missing key matters only then.
        self._made: dict[str, Model] = {}
        if models is None:
            self._settings = LlmSettings.from_environment()
        else:
            given = {m if isinstance(m, str) else m.model_name: m for m in models}
            self._settings = LlmSettings(list(given), base_url, api_key)
            self._made = {name: m for name, m in given.items() if not isinstance(m, str)}
        # Session URI -> what its people were told already.
        self._told: dict[str, set[str]] = {}
        # Closes the connections of the models that were made here.
        self._open = AsyncExitStack()
        self.models = [model_info(self.provider, name) for name in self._settings.models]

    @staticmethod
    def availability() -> str | None:
        """Return why this agent cannot run as things are configured; None when it can."""
        return LlmSettings.from_environment().problem() if has_pydantic_ai() else NO_PYDANTIC_AI

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None
    ) -> Mapping[str, Any]:
        """Return the settings of a session: what asks first, and how the agent works."""
        return SETTINGS

    async def start_session(self, session: SessionContext) -> None:
        """Load what the agent needs, so that the first turn does not wait for it."""
        await load_with_pydantic_ai("agenthost.agents.llm.coding_agent")

    async def run(self, turn: Turn) -> None:
        """Work on one turn."""
        coding = await load_with_pydantic_ai("agenthost.agents.llm.coding_agent")
        invocation = await read_invocation(turn)
        wanted = wanted_model(turn, self._settings.models, invocation)
        if wanted.name is None:
            raise AgentError(self._settings.problem() or "no model is configured", "noModel")
        if wanted.notice is not None:
            await self._tell_once(turn, wanted.notice)
        assignment = coding.Assignment(
            model=await self._model(wanted.name),
            model_name=wanted.name if wanted.is_brought else None,
            invocation=invocation,
            tell=lambda notice: self._tell_once(turn, notice),
        )
        await coding.answer(turn, assignment, _TITLES)

    async def sample(self, params: Mapping[str, Any], turn: Turn) -> Mapping[str, Any]:
        """Let the turn's model answer an MCP server, as people have agreed."""
        sampling = await load_with_pydantic_ai("agenthost.agents.llm.sampling")
        name = wanted_model(turn, self._settings.models, None).name
        if name is None:
            raise AgentError("no model is configured", "noModel")
        answer: Mapping[str, Any] = await sampling.answer_server(params, await self._model(name))
        return answer

    async def end_session(self, session: str) -> None:
        """Forget what was told in a session."""
        self._told.pop(session, None)

    async def close(self) -> None:
        """Close the connections to the models."""
        await self._open.aclose()

    async def _tell_once(self, turn: Turn, notice: str) -> None:
        """Tell people something that does not change from one turn to the next."""
        told = self._told.setdefault(turn.session.session, set())
        if notice not in told and len(told) < MOST_NOTICES:
            told.add(notice)
            await turn.notify(notice)

    async def _model(self, name: str) -> Model:
        if name not in self._made:
            model = make_model(name, self._settings)
            self._made[name] = model
            await self._open.enter_async_context(model)
        return self._made[name]


def make_llm_agent() -> LlmAgent:
    """Make the agent as the environment configures it; raise AgentError when it cannot run."""
    problem = LlmAgent.availability()
    if problem is not None:
        raise AgentError(f"the llm agent cannot run: {problem}", "unavailable")
    return LlmAgent()
