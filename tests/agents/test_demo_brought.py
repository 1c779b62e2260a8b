"""The demo agent with MCP servers and customizations: what a newcomer sees of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.agents import AgentError
from agenthost.agents.demo import Demo
from agenthost.agents.mcp_tools import McpServerInfo
from agenthost.agents.turn_customizations import CustomAgent, GlobRule, Prompt
from tests.agents.brought import BroughtCustomizations, BroughtMcp, a_skill, a_tool, text_result
from tests.agents.fakes import FakePort, make_turn

Json = dict[str, Any]


def begin(text: str, mcp: BroughtMcp) -> tuple[FakePort, asyncio.Task[None]]:
    port = FakePort(text)
    port.mcp = mcp
    return port, asyncio.create_task(Demo().run(make_turn(port)))


def said(port: FakePort) -> str:
    return "".join(part["content"] for part in port.parts if part["kind"] == "markdown")


async def test_servers_and_their_tools_are_listed_with_their_states() -> None:
    mcp = BroughtMcp(a_tool("now", "time", description="Tells\nthe time"))
    mcp.servers = [*mcp.servers, McpServerInfo("c-x", "broken", "error", "it ended: exit code 1")]
    port, running = begin("/mcp", mcp)
    await running
    lines = said(port).splitlines()
    assert lines[:3] == [
        "- `time` ready",
        "  - `now` Tells the time",
        "- `broken` error: it ended: exit code 1",
    ]


async def test_without_servers_it_says_how_to_declare_one() -> None:
    port, running = begin("/mcp", BroughtMcp())
    await running
    assert ".mcp.json" in said(port)


async def test_a_tool_is_called_once_it_is_approved_and_the_call_says_whose_it_is() -> None:
    mcp = BroughtMcp(a_tool("ask", "db", title="Ask the database"))
    mcp.results = [text_result("42")]
    port, running = begin('/mcp call db ask {"q": "all"}', mcp)
    call = await port.until_status("pending-confirmation")
    assert call["contributor"] == {"kind": "mcp", "customizationId": "c-db"}
    assert call["_meta"] == {"mcpServerName": "db"}
    assert (call["toolName"], call["displayName"]) == ("db__ask", "Ask the database")
    assert mcp.called == []
    port.answer("Confirmed", approved=True, confirmed="user-action")
    await running
    assert mcp.called == [("db__ask", {"q": "all"})]
    assert port.call["content"] == [{"type": "text", "text": "42"}]
    assert said(port) == "`db` answered:\n\n```\n42\n```\n"


async def test_edited_arguments_are_what_is_called() -> None:
    mcp = BroughtMcp(a_tool())
    mcp.results = [text_result("ok")]
    port, running = begin('/mcp call db ask {"q": 1}', mcp)
    await port.until_status("pending-confirmation")
    edited = {"approved": True, "confirmed": "user-action", "editedToolInput": '{"q": 2}'}
    port.answer("Confirmed", **edited)
    await running
    assert mcp.called == [("db__ask", {"q": 2})]


async def test_what_is_refused_is_not_called() -> None:
    mcp = BroughtMcp(a_tool())
    port, running = begin("/mcp call db ask", mcp)
    await port.until_status("pending-confirmation")
    port.answer("Confirmed", approved=False, reason="denied")
    await running
    assert mcp.called == []
    assert said(port) == "Then I will not."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/mcp call", "usage"),
        ("/mcp call db", "usage"),
        ("/mcp call db ask {", "usage"),
        ("/mcp call db ask [1]", "usage"),
        ("/mcp what", "usage"),
        ("/mcp call nowhere ask", "there is no server nowhere; there is: db"),
        ("/mcp call db fly", "db has no tool fly; it has: ask"),
        ("/mcp call late x", r"late is not ready \(starting\)"),
    ],
)
async def test_what_cannot_be_called_says_why(text: str, told: str) -> None:
    mcp = BroughtMcp(a_tool())
    mcp.servers = [*mcp.servers, McpServerInfo("c-late", "late", "starting")]
    _, running = begin(text, mcp)
    with pytest.raises(AgentError, match=told):
        await running


async def test_everything_that_people_brought_is_listed() -> None:
    port = FakePort("/customizations")
    port.customizations = BroughtCustomizations(
        instructions="Be kind.",
        skills=[a_skill("brew", "Makes tea")],
        prompts=[Prompt("c-p", "review", "Reviews", "file:///r/p")],
        agent=CustomAgent("c-a", "butler", "Serves", "file:///r/a", "You serve."),
        rules=[GlobRule("c-r", "style", "How", "file:///r/s", "/r/s", ("*.py",))],
    )
    await Demo().run(make_turn(port))
    for told in ("Be kind.", "`brew` Makes tea", "`review` Reviews", "`butler` Serves", "*.py"):
        assert told in said(port)


async def test_the_text_of_one_is_shown_by_its_name() -> None:
    port = FakePort("/customizations brew")
    given = BroughtCustomizations(skills=[a_skill("brew")], texts={"brew": "Boil water."})
    port.customizations = given
    await Demo().run(make_turn(port))
    assert said(port) == "Boil water."


async def test_a_name_that_nobody_brought_is_told_with_those_there_are() -> None:
    port = FakePort("/customizations fly")
    port.customizations = BroughtCustomizations(skills=[a_skill("brew")])
    with pytest.raises(AgentError, match="there is no fly here; there is: brew"):
        await Demo().run(make_turn(port))


async def test_without_any_it_says_where_to_put_them() -> None:
    port = FakePort("/customizations")
    await Demo().run(make_turn(port))
    assert "AGENTS.md" in said(port)
