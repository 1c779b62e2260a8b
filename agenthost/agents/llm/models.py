"""Which models are offered, from names and the environment; making them when they are used.

Importing this needs no pydantic-ai.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agenthost.agents.api import AgentError
from agenthost.agents.invocations import Invocation
from agenthost.agents.turn import Turn
from agenthost.agents.turn_customizations import CustomAgent, Prompt, Skill
from agenthost.protocol.markdown import without_code_marks

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

MODELS: Final = "AGENTHOST_LLM_MODELS"
BASE_URL: Final = "AGENTHOST_LLM_BASE_URL"
API_KEY: Final = "AGENTHOST_LLM_API_KEY"

# The key of a provider -> what is offered when it is there and nothing is configured.
PROVIDER_KEYS: Final[Mapping[str, Sequence[str]]] = {
    "ANTHROPIC_API_KEY": ("anthropic:claude-sonnet-5-5", "anthropic:claude-haiku-5-5"),
    "OPENAI_API_KEY": ("openai:gpt-6.1-terra", "openai:gpt-6-luna"),
    "GOOGLE_API_KEY": ("google:gemini-4-argon", "google:gemini-3.8-flash"),
    "GEMINI_API_KEY": ("google:gemini-4-argon", "google:gemini-3.8-flash"),
}
# Servers of one's own speak the protocol that goes by this name.
_OWN_SERVER: Final = ("openai", "openai-chat")

# What files write that leave the choice to whoever sends a message.
_ANY_MODEL: Final = ("inherit", "auto", "default")

_THINKING: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "thinking": {
            "type": "string",
            "title": "Thinking",
            "description": "How much the model thinks before it answers, where it can",
            "enum": ["default", "off", "low", "medium", "high"],
            "default": "default",
        }
    },
}


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """The models to offer, and a server of one's own that some of them are on."""

    models: Sequence[str]
    base_url: str | None = None
    # Kept out of every representation.
    api_key: str | None = None

    def __repr__(self) -> str:
        return f"LlmSettings(models={list(self.models)!r}, base_url={self.base_url!r})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> LlmSettings:
        """Read what is configured; without any models, those whose provider's key is there."""
        given = os.environ if environment is None else environment
        names = [name.strip() for name in given.get(MODELS, "").split(",") if name.strip()]
        if not names and not given.get(BASE_URL):
            keys = [key for key in PROVIDER_KEYS if given.get(key)]
            names = [name for key in keys for name in PROVIDER_KEYS[key]]
        return cls(
            list(dict.fromkeys(names)), given.get(BASE_URL) or None, given.get(API_KEY) or None
        )

    def problem(self) -> str | None:
        """Return why no model is usable, or None; one model that works is enough.

        Whether a key is good, only its provider can tell. Needs pydantic-ai.
        """
        if not self.models and self.base_url:
            return f"{BASE_URL} is set, but {MODELS} does not name the models to use there"
        if not self.models:
            keys = ", ".join(PROVIDER_KEYS)
            return f"no model is configured: set {MODELS}, or one of {keys}"
        if not self.base_url:
            nameless = [name for name in self.models if ":" not in name and name != "test"]
            if nameless:
                return f"{nameless[0]} names no provider: say openai:{nameless[0]}, for example"
        problems = []
        for name in self.models:
            problem = self._problem_with(name)
            if problem is None:
                return None
            problems.append(problem)
        # The others may have problems of their own; the default one is the one that was wanted.
        return problems[0]

    def _problem_with(self, name: str) -> str | None:
        vendor, colon, _ = name.partition(":")
        if self.base_url and (not colon or vendor in _OWN_SERVER):
            return None
        keys = [key for key, names in PROVIDER_KEYS.items() if names[0].startswith(f"{vendor}:")]
        if any(os.environ.get(key) for key in keys):
            # Making it to see whether that works takes seconds, the imports alone.
            return None
        try:
            make_model(name, self)
        except AgentError as error:
            return str(error)
        return None


def model_info(provider: str, name: str) -> dict[str, Any]:
    """Describe a model to clients by its pydantic-ai name."""
    vendor, colon, short = name.partition(":")
    shown = f"{short} ({vendor})" if colon else name
    return {"id": name, "provider": provider, "name": shown, "configSchema": _THINKING}


def chosen_model(turn: Turn, offered: Sequence[str]) -> str | None:
    """Return the model that a message asks for, or the first one offered, as the host orders them.

    Raises AgentError for one that is not offered.
    """
    chosen = (turn.message.get("model") or {}).get("id")
    if chosen is None:
        return turn.model if turn.model in offered else next(iter(offered), None)
    if chosen not in offered:
        known = ", ".join(offered) or "none to choose from"
        raise AgentError(f"there is no model {chosen} here; there is: {known}", "unknownModel")
    return str(chosen)


@dataclass(frozen=True, slots=True)
class WantedModel:
    """The model that a turn is answered with."""

    # None if there is none to choose from.
    name: str | None
    # Whether what people brought asks for it, and not the message.
    is_brought: bool = False
    # What people are told if that asks for one that is not offered.
    notice: str | None = None


def wanted_model(turn: Turn, offered: Sequence[str], invocation: Invocation | None) -> WantedModel:
    """Return the model of the custom agent or the prompt, if it is offered, or the message's.

    Raises AgentError for a message that asks for one that is not offered.
    """
    chosen = chosen_model(turn, offered)
    brought: CustomAgent | Prompt | Skill | None = turn.customizations.agent
    if brought is None and invocation is not None:
        brought = invocation.item
    if brought is None or isinstance(brought, Skill) or not brought.model:
        return WantedModel(chosen)
    found = _offered_as(brought.model, offered)
    if found is not None:
        return WantedModel(found, is_brought=True)
    if brought.model.strip().lower() in _ANY_MODEL or chosen is None:
        return WantedModel(chosen)
    asked = f"{brought.name} asks for the model {brought.model[:100]}, which is not offered here"
    return WantedModel(chosen, notice=f"{asked}; {chosen} answers.")


def _offered_as(name: str, offered: Sequence[str]) -> str | None:
    """Return how a model is offered that a file calls by its id, or by the id's last part."""
    wanted = name.strip().lower()
    for each in offered:
        if wanted in (each.lower(), each.partition(":")[2].lower()):
            return each
    return None


def thinking_settings(turn: Turn) -> ModelSettings:
    """Return the model settings that the message's model options stand for."""
    level = turn.model_config.get("thinking")
    if level in ("low", "medium", "high"):
        return {"thinking": level}
    return {"thinking": False} if level == "off" else {}


def make_model(name: str, settings: LlmSettings) -> Model:
    """Make the model that a name stands for; raise AgentError when that cannot be."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    if settings.base_url and (own := _name_on_server(name)) is not None:
        # Without a key of its own the server must not see that of another provider.
        key = settings.api_key or "none"
        provider = OpenAIProvider(base_url=settings.base_url, api_key=key)
        return OpenAIChatModel(own, provider=provider)
    try:
        return infer_model(name)
    except (UserError, ImportError) as error:
        # What follows is for those who write programs.
        why = without_code_marks(str(error).partition(" To try Pydantic AI")[0])
        raise AgentError(f"the model {name} cannot be used: {why}", "noModel") from error


def _name_on_server(name: str) -> str | None:
    """Return a model's name on the configured server; None when it is another provider's."""
    from pydantic_ai.providers import infer_provider_class

    vendor, colon, short = name.partition(":")
    if colon and vendor in _OWN_SERVER:
        return short
    try:
        infer_provider_class(vendor if colon else "")
    except ValueError:
        # A colon may be part of a name, as in qwen3:8b.
        return name
    return None
