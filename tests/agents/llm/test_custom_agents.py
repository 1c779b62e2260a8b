"""What people brought, as a model is told it: recorded requests to a model's server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agenthost.agents import AgentError
from agenthost.agents.turn_customizations import CustomAgent, GlobRule, Prompt
from tests.agents.brought import BroughtCustomizations, BroughtMcp, a_skill, a_tool
from tests.agents.fakes import FakePort
from tests.agents.llm.offline import agent_on, names_of, notices, said, start, system_of
from tests.agents.llm.openai_server import ModelServer, Say, ToolUse, model_server

OWN = ["list_files", "read_file", "search_files", "edit_file", "run_command"]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as running:
        yield running


def butler(**fields: object) -> CustomAgent:
    given = {"instructions": "You are a butler. Serve tea.", **fields}
    return CustomAgent("c-a", "butler", "Serves", "file:///r/butler.md", **given)  # type: ignore[arg-type]


async def test_a_custom_agent_is_the_system_prompt_the_tools_and_the_model(
    server: ModelServer, tmp_path: Path
) -> None:
    server.will(Say("Tea, sir."))
    port = FakePort("tea please")
    agent = butler(model="big", tools=("read", "db/*"))
    port.customizations = BroughtCustomizations(agent=agent)
    port.mcp = BroughtMcp(a_tool("ask", "db"), a_tool("send", "mail"))
    await start(agent_on(server, "openai:tiny", "openai:big"), port, tmp_path)
    request = server.requests[0]
    assert system_of(request).startswith("You are a butler. Serve tea.")
    assert "You are a coding agent" not in system_of(request)
    assert str(tmp_path) in system_of(request)
    assert sorted(names_of(request)) == ["db__ask", "list_files", "read_file"]
    assert request["model"] == "big"
    assert port.state["activeTurn"]["usage"]["model"] == "openai:big"
    assert notices(port) == []


async def test_without_a_custom_agent_nothing_is_left_out(server: ModelServer) -> None:
    server.will(Say("Hi."))
    port = FakePort("hi")
    port.mcp = BroughtMcp(a_tool("ask", "db"))
    await start(agent_on(server), port)
    request = server.requests[0]
    assert system_of(request).startswith("You are a coding agent.")
    assert sorted(names_of(request)) == sorted([*OWN, "db__ask"])


async def test_unknown_tools_and_models_are_left_out_and_told_once(server: ModelServer) -> None:
    agent = agent_on(server)
    given = BroughtCustomizations(agent=butler(model="gpt-99", tools=("Bash", "teleport", "fax")))
    server.will(Say("One."), Say("Two."))
    told = []
    for text in ("one", "two"):
        port = FakePort(text)
        port.customizations = given
        await start(agent, port)
        told.append(notices(port))
    assert told == [
        [
            "butler asks for the model gpt-99, which is not offered here; openai:tiny answers.",
            "butler names tools that are not here: teleport, fax.",
        ],
        [],
    ]
    assert [names_of(request) for request in server.requests] == [["run_command"]] * 2
    assert [request["model"] for request in server.requests] == ["tiny"] * 2


async def test_an_agent_that_names_only_unknown_tools_has_none(server: ModelServer) -> None:
    server.will(Say("I cannot."))
    port = FakePort("go")
    port.customizations = BroughtCustomizations(agent=butler(tools=("teleport",)))
    await start(agent_on(server), port)
    assert names_of(server.requests[0]) == []


async def test_instructions_and_rules_are_told_and_skills_only_by_name(
    server: ModelServer,
) -> None:
    server.will(Say("Yes."))
    port = FakePort("go")
    given = BroughtCustomizations(
        instructions="# /r/AGENTS.md\n\nUse tabs.",
        rules=[GlobRule("c-r", "py", "Style of\nPython", "file:///r/py.md", "/r/py.md", ("*.py",))],
        skills=[
            a_skill("brew", "Makes\n tea", model_may_invoke=True),
            a_skill("secret", "For people only", model_may_invoke=False),
        ],
        texts={"brew": "Boil water first."},
    )
    port.customizations = given
    await start(agent_on(server), port)
    prompt = system_of(server.requests[0])
    assert "Use tabs." in prompt
    assert "- *.py: /r/py.md: Style of Python" in prompt
    assert "- brew: Makes tea\n" in prompt
    assert "secret" not in prompt
    assert "Boil water" not in prompt
    assert given.loaded == []


async def test_a_model_reads_a_skill_and_its_files_when_it_needs_them(server: ModelServer) -> None:
    server.will(
        Say(ToolUse("load_skill", '{"name": "brew"}')),
        Say(ToolUse("load_skill", '{"name": "brew", "file": "pots.md"}')),
        Say(ToolUse("load_skill", '{"name": "fly"}')),
        Say("Done."),
    )
    port = FakePort("make tea")
    port.customizations = BroughtCustomizations(
        skills=[a_skill("brew", "Makes tea")],
        texts={"brew": "Boil water. See pots.md.", "brew/pots.md": "Use the blue one."},
    )
    await start(agent_on(server), port)
    results = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert results[:2] == ["Boil water. See pots.md.", "Use the blue one."]
    assert "there is no skill fly; there is: brew" in results[2]
    # It is shown, and nobody is asked.
    calls = [part["toolCall"] for part in port.parts if part["kind"] == "toolCall"]
    assert [call["displayName"] for call in calls] == ["Read skill"] * 3
    assert [call.get("confirmed") for call in calls] == ["not-needed"] * 3
    assert [call["success"] for call in calls] == [True, True, False]


async def test_a_megabyte_of_a_skill_is_cut(server: ModelServer) -> None:
    server.will(Say(ToolUse("load_skill", '{"name": "brew"}')), Say("Done."))
    port = FakePort("make tea")
    given = BroughtCustomizations(skills=[a_skill("brew")], texts={"brew": "x" * 1_000_000})
    port.customizations = given
    await start(agent_on(server), port)
    result = server.requests[-1]["messages"][-1]["content"]
    assert len(result) < 110_000
    assert "characters left out" in result


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("Review this: $ARGUMENTS", "Review this: the parser"),
        ("Review ${input:what:Which part?} well.", "Review the parser well."),
        ("Review all.", "Review all.\n\nthe parser"),
    ],
)
async def test_a_message_that_names_a_prompt_is_read_as_its_text(
    server: ModelServer, body: str, told: str
) -> None:
    server.will(Say("Fine."))
    port = FakePort("/review the parser")
    prompt = Prompt("c-p", "review", "", "file:///r/p.md", "big", ("search",))
    port.customizations = BroughtCustomizations(prompts=[prompt], texts={"review": body})
    await start(agent_on(server, "openai:tiny", "openai:big"), port)
    request = server.requests[0]
    assert request["messages"][-1] == {"role": "user", "content": told}
    assert (request["model"], sorted(names_of(request))) == ("big", ["list_files", "search_files"])
    # People still see what they wrote.
    assert port.state["activeTurn"]["message"]["text"] == "/review the parser"


async def test_people_may_begin_a_message_with_a_skill(server: ModelServer) -> None:
    server.will(Say("Tea!"))
    port = FakePort("/plug:brew\nfor two")
    given = BroughtCustomizations(skills=[a_skill("plug:brew")], texts={"plug:brew": "Boil."})
    port.customizations = given
    await start(agent_on(server), port)
    assert server.requests[0]["messages"][-1]["content"] == "Boil.\n\nfor two"


async def test_a_skill_that_people_may_not_invoke_is_just_a_message(server: ModelServer) -> None:
    server.will(Say("What?"))
    port = FakePort("/brew")
    port.customizations = BroughtCustomizations(
        skills=[a_skill("brew", user_may_invoke=False)], texts={"brew": "Boil."}
    )
    await start(agent_on(server), port)
    assert server.requests[0]["messages"][-1]["content"] == "/brew"
    assert said(port) == "What?"


async def test_a_prompt_that_cannot_be_read_ends_the_turn_with_the_reason(
    server: ModelServer,
) -> None:
    port = FakePort("/review it")
    prompt = Prompt("c-p", "review", "", "file:///r/p.md")
    port.customizations = BroughtCustomizations(prompts=[prompt])
    with pytest.raises(AgentError, match="review cannot be read: there is no such file"):
        await start(agent_on(server), port)
    assert server.requests == []
