"""Titles by which agents call tools of MCP servers, and whose calls they are."""

from __future__ import annotations

import pytest

from agenthost.agents.acp.turns.bridged_tools import BridgedTools, mcp_title
from agenthost.agents.mcp_tools import BridgeAddress
from tests.agents.brought import BroughtMcp, a_tool
from tests.agents.fakes import FakePort, make_turn


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("mcp__time__get_current_time", ("time", "get_current_time")),
        ("`mcp__time__get_current_time`", ("time", "get_current_time")),
        ("mcp__my_db__a__b", ("my_db", "a__b")),
        ("get_current_time (time MCP Server)", ("time", "get_current_time")),
        ("Tool: time/get_current_time", ("time", "get_current_time")),
        ("Read src/main.py", None),
        ("Run `ls`", None),
        ("", None),
        ("mcp__" + "x" * 10_000, None),
    ],
)
def test_the_title_of_a_call_names_a_server_and_a_tool(
    title: str, named: tuple[str, str] | None
) -> None:
    assert mcp_title(title) == named


async def test_only_servers_that_were_given_to_the_agent_are_contributors() -> None:
    port = FakePort()
    port.mcp = BroughtMcp(a_tool("ask", "db"))
    port.bridges = [BridgeAddress("c-db", "db", ("relay",)), BridgeAddress("client", "client", ())]
    bridged = BridgedTools(make_turn(port))
    assert [address.name for address in await bridged.open()] == ["db", "client"]
    contributor = {"kind": "mcp", "customizationId": "c-db"}
    assert bridged.contributor("mcp__db__ask") == contributor
    for title in ("mcp__client__look", "mcp__own__tool", "src/main.py", "Edit"):
        assert bridged.contributor(title) is None


async def test_where_there_is_nothing_to_reach_nothing_is_opened() -> None:
    port = FakePort()
    port.bridges = [BridgeAddress("c-db", "db", ("relay",))]
    assert await BridgedTools(make_turn(port)).open() == []
    assert port.bridged is None
