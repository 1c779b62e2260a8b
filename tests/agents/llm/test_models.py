"""Which models are offered, and what is said when there are none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models import KnownModelName, Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

from agenthost.agents import AgentError
from agenthost.agents.llm import LlmAgent, make_llm_agent
from agenthost.agents.llm.models import API_KEY, BASE_URL, MODELS, PROVIDER_KEYS, LlmSettings
from agenthost.agents.llm.models import make_model as make
from agenthost.agents.loader import find_agents
from tests.agents.failures import failure
from tests.agents.llm.scripted import Script
from tests.agents.llm.talking import talk_to


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (MODELS, BASE_URL, API_KEY, *PROVIDER_KEYS):
        monkeypatch.delenv(name, raising=False)


def ids(agent: LlmAgent) -> list[str]:
    return [str(model["id"]) for model in agent.models]


def test_without_models_and_keys_it_says_what_to_set() -> None:
    why = LlmAgent.availability()
    assert why is not None
    assert MODELS in why
    assert "OPENAI_API_KEY" in why
    with pytest.raises(AgentError, match=MODELS):
        make_llm_agent()


def test_named_models_are_offered_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODELS, "openai:gpt-4o, anthropic:claude-haiku-4-5,openai:gpt-4o,")
    # For one of them there is a key, so there is something to offer.
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    assert LlmAgent.availability() is None
    agent = make_llm_agent()
    assert ids(agent) == ["openai:gpt-4o", "anthropic:claude-haiku-4-5"]
    assert agent.models[0]["name"] == "gpt-4o (openai)"
    assert agent.models[0]["provider"] == "llm"


def test_a_known_key_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    assert LlmAgent.availability() is None
    assert all(name.startswith("anthropic:") for name in ids(make_llm_agent()))


@pytest.mark.parametrize("names", sorted(set(map(tuple, PROVIDER_KEYS.values()))))
def test_of_the_models_offered_by_default_pydantic_ai_knows_one(names: tuple[str, ...]) -> None:
    # Not each of them: its releases forget models at any time, which must break no checkout.
    assert set(names) & set(KnownModelName.__value__.__args__)


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({BASE_URL: "http://localhost:1/v1"}, "does not name the models"),
        ({BASE_URL: "http://localhost:1/v1", "OPENAI_API_KEY": "key"}, "does not name the models"),
        ({MODELS: "gpt-4o"}, "names no provider: say openai:gpt-4o"),
    ],
)
def test_half_a_configuration_is_explained(environment: dict[str, str], why: str) -> None:
    assert why in (LlmSettings.from_environment(environment).problem() or "")


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ("nosuch:zzz", "the model nosuch:zzz cannot be used: Unknown model"),
        ("openai:gpt-4o", "the model openai:gpt-4o cannot be used: Set the OPENAI_API_KEY"),
        ("google:gemini-2.5-pro,nosuch:zzz", "cannot be used: Set the GOOGLE_API_KEY"),
    ],
)
def test_a_model_that_cannot_work_is_not_offered_and_the_list_says_why(
    monkeypatch: pytest.MonkeyPatch, models: str, why: str
) -> None:
    monkeypatch.setenv(MODELS, models)
    assert why in (LlmAgent.availability() or "")
    (found,) = [found for found in find_agents() if found.spec == "llm"]
    assert found.agent is None
    assert why in (found.problem or "")
    assert "Pydantic AI" not in (found.problem or "")


@pytest.mark.parametrize("models", ["qwen3:8b", "llama3", "openai:gpt-4o", "nosuch:zzz,llama3"])
def test_a_server_of_one_s_own_needs_no_key(monkeypatch: pytest.MonkeyPatch, models: str) -> None:
    monkeypatch.setenv(MODELS, models)
    monkeypatch.setenv(BASE_URL, "http://localhost:1/v1")
    assert LlmAgent.availability() is None


def test_what_is_not_installed_for_a_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    for name in [
        name
        for name in sys.modules
        if name.startswith("pydantic_ai.") and name.endswith(".anthropic")
    ]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(AgentError, match="cannot be used: Please install"):
        make("anthropic:claude-haiku-4-5", LlmSettings(["anthropic:claude-haiku-4-5"]))


def test_settings_do_not_show_their_key() -> None:
    assert "secret" not in repr(LlmSettings(["a"], "http://x", "secret"))


async def made(name: str, settings: LlmSettings) -> Model:
    """Make a model and close its connections again."""
    model = make(name, settings)
    async with model:
        return model


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openai:gpt-4o", OpenAIResponsesModel),
        ("anthropic:claude-haiku-4-5", AnthropicModel),
        ("google:gemini-2.5-flash", GoogleModel),
    ],
)
async def test_each_provider_s_models_can_be_made(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: type[Model]
) -> None:
    for key in PROVIDER_KEYS:
        monkeypatch.setenv(key, "key")
    assert isinstance(await made(name, LlmSettings([name])), kind)


@pytest.mark.parametrize(
    ("name", "there"),
    [("openai:llama3", "llama3"), ("llama3", "llama3"), ("qwen3:8b", "qwen3:8b")],
)
async def test_a_server_of_one_s_own_gets_the_name_it_knows(name: str, there: str) -> None:
    model = await made(name, LlmSettings([name], "http://localhost:1/v1", "key"))
    assert isinstance(model, OpenAIChatModel)
    assert model.model_name == there
    assert model.base_url == "http://localhost:1/v1/"


async def test_other_providers_do_not_go_to_a_server_of_one_s_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    settings = LlmSettings(["anthropic:claude-haiku-4-5"], "http://localhost:1/v1")
    assert isinstance(await made(settings.models[0], settings), AnthropicModel)


@pytest.mark.parametrize("name", ["openai:gpt-4o", "nobody:knows"])
async def test_a_model_that_cannot_be_made_ends_the_turn_and_says_why(
    tmp_path: Path, name: str
) -> None:
    async with talk_to(LlmAgent([name]), tmp_path) as talk:
        turn = await talk.say("t1", "hi")
    assert failure(turn)["errorType"] == "noModel"
    assert failure(turn)["message"].startswith(f"the model {name} cannot be used: ")


@pytest.mark.parametrize(
    ("level", "expected"), [("default", None), ("off", False), ("high", "high")]
)
async def test_how_much_a_model_thinks_is_an_option_of_the_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, expected: Any
) -> None:
    script = Script("ok")
    seen: list[Any] = []
    stream = script.model.request_stream

    def watch(messages: Any, settings: Any, *rest: Any) -> Any:
        seen.append((settings or {}).get("thinking"))
        return stream(messages, settings, *rest)

    monkeypatch.setattr(script.model, "request_stream", watch)
    async with talk_to(LlmAgent([script.model]), tmp_path) as talk:
        await talk.say("t1", "hi", model={"id": "scripted", "config": {"thinking": level}})
    assert seen == [expected]


WITHOUT = """
import sys
sys.modules["pydantic_ai"] = None
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "pydantic_ai" else find(name, *more)
import agenthost.agents, agenthost.agents.loader
from agenthost.agents.llm import LlmAgent, make_llm_agent
print(LlmAgent.availability())
for use in (make_llm_agent, lambda: agenthost.agents.from_pydantic_ai(object())):
    try:
        use()
    except agenthost.agents.AgentError as error:
        print(error)
"""


def test_without_the_extra_everything_imports_and_use_says_what_to_install() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True
    )
    lines = ran.stdout.splitlines()
    assert len(lines) == 3
    assert all("pip install 'agenthost[llm]'" in line for line in lines)
    assert all("in a checkout pip install '.[llm]'" in line for line in lines)


def test_importing_the_agents_does_not_import_pydantic_ai() -> None:
    look = "import sys, agenthost.agents; print('pydantic_ai' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
