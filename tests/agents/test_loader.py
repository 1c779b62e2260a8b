from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from agenthost.agents import Agent, Turn
from agenthost.agents import loader as registry
from agenthost.agents.demo import Demo
from agenthost.agents.loader import (
    ENTRY_POINTS,
    UnknownAgent,
    configured_specs,
    find_agents,
    load_agent,
    load_agents,
)
from agenthost.agents.reloading import ReloadingAgent

HERE = "tests.agents.test_loader"


class Helpful(Agent):
    provider, display_name = "helpful", "Helpful"

    async def run(self, turn: Turn) -> None:
        pass


class AlsoHelpful(Helpful):
    pass


class Callable(Helpful):
    def __call__(self) -> None:
        raise AssertionError("an agent that is made is not called")


made = Helpful()
callable_one = Callable()
number = 7


def make() -> Agent:
    return made


class NotADemo(Helpful):
    provider = "demo"


class Broken(Helpful):
    def __init__(self) -> None:
        raise ValueError("no battery")


class NoAgent:
    pass


class Nameless(Agent):
    async def run(self, turn: Turn) -> None:
        pass


class Speechless(Helpful):
    @property
    def models(self) -> list[dict[str, str]]:  # type: ignore[override]
        raise OSError("the models cannot be listed")


class Muddled(Helpful):
    models = ({"name": "Small"},)


def providers(*specs: str) -> list[str]:
    return [agent.provider for agent in load_agents([f"{HERE}:{spec}" for spec in specs])]


def test_demo_is_built_in() -> None:
    assert isinstance(load_agent("demo"), Demo)


def test_any_class_of_any_module_can_be_named() -> None:
    assert load_agent(f"{HERE}:Helpful").provider == "helpful"


@pytest.mark.parametrize(
    ("name", "agent"), [("made", made), ("make", made), ("callable_one", callable_one)]
)
def test_an_agent_that_is_made_already_is_taken_as_it_is(name: str, agent: Agent) -> None:
    assert load_agent(f"{HERE}:{name}") is agent


def test_an_installed_package_may_name_an_agent_that_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = EntryPoint("clerk", f"{HERE}:made", ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda **_: EntryPoints([point]))
    assert load_agent("clerk") is made


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("nonsense", "there is no agent 'nonsense'"),
        ("no.such.module:Class", "No module named 'no'"),
        (f"{HERE}:Missing", "has no attribute 'Missing'"),
        (f"{HERE}:NoAgent", "is no Agent: derive it from agenthost.agents.Agent"),
        (f"{HERE}:number", "is no Agent: derive it from agenthost.agents.Agent"),
        (f"{HERE}:Broken", "cannot be made: no battery"),
        (f"{HERE}:Agent", "cannot be made"),
        (f"{HERE}:Nameless", "cannot describe itself: 'Nameless' object has no attribute"),
        (f"{HERE}:Speechless", "cannot describe itself: the models cannot be listed"),
        (f"{HERE}:Muddled", "describes itself wrongly: models[0].id: is required"),
        (":", "cannot be made: Empty module name"),
    ],
)
def test_what_cannot_be_had_says_why(spec: str, problem: str) -> None:
    with pytest.raises(UnknownAgent) as error:
        load_agent(spec)
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import os\nimport no_such_thing\n", "No module named 'no_such_thing' ({file}, line 2)"),
        ("x = 1\n\nx.y\n", "'int' object has no attribute 'y' ({file}, line 3)"),
        ("def f(:\n", "invalid syntax ({file}, line 1)"),
        ("import sys\nsys.exit('not today')\n", "not today ({file}, line 2)"),
        ("import {name}_lib\n", "oh no ({lib}, line 1, from {file}, line 1)"),
        ("class A:\n    def __init__(self):\n        open('/no/such')\n", "{file}, line 3)"),
    ],
)
def test_what_goes_wrong_in_a_module_is_told_with_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, problem: str
) -> None:
    name = f"broken_{abs(hash(source))}"
    file, lib = tmp_path / f"{name}.py", tmp_path / f"{name}_lib.py"
    file.write_text(source.replace("{name}", name))
    lib.write_text("raise RuntimeError('oh no')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UnknownAgent) as error:
        load_agent(f"{name}:A")
    assert str(error.value).endswith(problem.format(file=file, lib=lib))
    assert "\n" not in str(error.value)


def test_named_agents_come_first_and_demo_is_always_there() -> None:
    named = providers("Helpful")
    assert named[0] == "helpful"
    assert "demo" in named
    assert "demo" in providers()


def test_an_agent_may_take_the_place_of_demo() -> None:
    agents = load_agents([f"{HERE}:NotADemo"])
    assert [type(agent) for agent in agents if agent.provider == "demo"] == [NotADemo]


def test_two_agents_of_one_name_are_one_too_many() -> None:
    with pytest.raises(UnknownAgent, match="two agents are called 'helpful'"):
        providers("Helpful", "AlsoHelpful")


def test_a_named_agent_that_cannot_be_had_is_an_error_and_a_listed_one_says_why() -> None:
    with pytest.raises(UnknownAgent, match="no battery"):
        providers("Broken")
    found = find_agents([f"{HERE}:Broken", "demo"])
    assert (found[0].source, found[0].agent) == ("named", None)
    assert "no battery" in (found[0].problem or "")
    assert isinstance(found[1].agent, Demo)


def test_a_file_may_name_agents(tmp_path: Path) -> None:
    path = tmp_path / "agenthost.toml"
    assert configured_specs(path) == []
    path.write_text('agents = ["demo", "module:Class"]\n')
    assert configured_specs(path) == ["demo", "module:Class"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agents = 'demo'", "must be a list"),
        ("agents = [1]", "must be a list"),
        ("agent = ['demo']", "there is no setting 'agent'"),
        ("agents = [", "cannot be read"),
    ],
)
def test_a_file_that_makes_no_sense_says_so(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "agenthost.toml"
    path.write_text(text)
    with pytest.raises(UnknownAgent, match=problem):
        configured_specs(path)


def test_agents_that_people_write_here_are_read_again_if_that_is_wished() -> None:
    offered = {type(agent) for agent in load_agents([f"{HERE}:Helpful"], reload=True)}
    assert {ReloadingAgent, Demo} <= offered
    assert ReloadingAgent not in {type(agent) for agent in load_agents([f"{HERE}:Helpful"])}


def test_it_is_told_which_agents_are_left_out_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._BUILT_IN, "llm", lambda: load_agent("nowhere"))
    unusable: list[registry.AgentCandidate] = []
    load_agents(["demo"], unusable=unusable)
    assert [(each.spec, each.source) for each in unusable] == [("llm", "built in")]
    assert "there is no agent 'nowhere'" in (unusable[0].problem or "")
