"""Bridges to the tools of a chat's turns: opened once, listed as things are, run in a turn only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from agenthost.agents.api import AgentError
from agenthost.agents.mcp_tools import OfferedTool
from agenthost.host.turns import mcp_bridges
from agenthost.host.turns.mcp_bridges import McpBridges
from agenthost.host.turns.running_turn import RunningTurn
from agenthost.host.turns.turn_hooks import McpOfTurns
from agenthost.mcp.types import McpFailed
from tests.agents.brought import BroughtMcp, a_tool

Json = dict[str, Any]


@dataclass
class OpenBridge:
    """A bridge that was opened, without any program."""

    name: str
    tools: Callable[[], Sequence[Json]]
    call: Callable[[str, Json], Awaitable[Json]]
    command: tuple[str, ...] = ("relay",)
    changes: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def env(self) -> dict[str, str]:
        return {"BRIDGE": str(id(self))}

    def changed(self) -> None:
        self.changes += 1

    async def close(self) -> None:
        self.closed.set()


class Bringing:
    """Opens bridges, and can tell of other tools."""

    def __init__(self) -> None:
        self.opened: list[OpenBridge] = []
        self.on_tools_changed: Callable[[str], None] = print
        self.works = True

    async def open_bridge(self, name: str, tools: Any, call: Any) -> OpenBridge:
        if not self.works:
            raise McpFailed("MCP servers need: pip install", "closed")
        self.opened.append(OpenBridge(name, tools, call))
        return self.opened[-1]


@dataclass
class Named:
    """A channel, as little of it as bridges look at."""

    uri: str
    settled: Json = field(default_factory=lambda: {"activeClients": []})


class RunningChat:
    """A chat with a turn, as little of it as bridges look at."""

    def __init__(self, chat: str = "c:/1", *tools: OfferedTool) -> None:
        self.channel, self.session = Named(chat), Named("s:/1")
        self.mcp = BroughtMcp(*tools)
        self.over = False
        self.bridged: Any = None


class Stage:
    """Bridges, and the turns that run."""

    def __init__(self) -> None:
        self.brings = Bringing()
        self.running: dict[str, RunningChat] = {}
        find = cast("Callable[[str], RunningTurn | None]", self.running.get)
        self.bridges = McpBridges(cast("McpOfTurns", self.brings), find, self._call)

    async def _call(
        self, session: Any, work: Callable[[], Awaitable[Mapping[str, Any]]]
    ) -> Mapping[str, Any]:
        return await work()

    async def open(self, chat: RunningChat) -> list[str]:
        self.running[chat.channel.uri] = chat
        opened = await self.bridges.open(cast("RunningTurn", chat))
        return [address.name for address in opened]


async def test_each_server_has_a_bridge_that_stays_for_the_next_turn() -> None:
    stage, chat = Stage(), RunningChat("c:/1", a_tool("ask", "db"), a_tool("send", "Günters Mail"))
    assert await stage.open(chat) == ["db", "G_nters_Mail"]
    assert await stage.open(chat) == ["db", "G_nters_Mail"]
    assert len(stage.brings.opened) == 2
    listed = stage.brings.opened[0].tools()
    assert [(tool["name"], tool["title"]) for tool in listed] == [("ask", "Ask")]
    # As they are by then.
    chat.mcp.tools = []
    assert stage.brings.opened[0].tools() == []


async def test_servers_named_alike_and_the_tools_of_clients_are_told_apart() -> None:
    stage = Stage()
    tools = [a_tool("a", "client"), OfferedTool("x", "c-2", "client", "b", "", "", {})]
    chat = RunningChat("c:/1", *tools)
    chat.session.settled["activeClients"] = [
        {"clientId": "c1", "tools": [{"name": "look", "description": "Looks"}]},
        {"clientId": "c2", "tools": [{"name": "look"}]},
    ]
    assert await stage.open(chat) == ["client", "client_2", "client_3"]
    assert stage.brings.opened[-1].tools() == [
        {
            "name": "look",
            "description": "Looks",
            "inputSchema": {"type": "object", "properties": {}},
        }
    ]


async def test_a_call_runs_in_the_turn_of_its_chat_and_without_one_fails() -> None:
    stage, chat = Stage(), RunningChat("c:/1", a_tool("ask", "db"))
    called = []

    async def run(server: str, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        called.append((server, tool, dict(arguments)))
        if tool == "refused":
            raise AgentError("not today")
        if tool == "broken":
            raise ValueError("secret")
        return {"content": []}

    chat.bridged = run
    await stage.open(chat)
    call = stage.brings.opened[0].call
    assert await call("ask", {"q": 1}) == {"content": []}
    assert called == [("c-db", "ask", {"q": 1})]
    assert (await call("refused", {}))["content"] == [{"type": "text", "text": "not today"}]
    assert "secret" not in str(await call("broken", {}))
    chat.over = True
    over = await call("ask", {})
    stage.running.clear()
    for failed in (over, await call("ask", {})):
        assert failed["isError"] is True
        assert "nothing is being answered" in failed["content"][0]["text"]
    assert len(called) == 3


async def test_programs_are_told_when_there_are_other_tools() -> None:
    stage, chat = Stage(), RunningChat("c:/1", a_tool("ask", "db"))
    await stage.open(chat)
    stage.brings.on_tools_changed("s:/2")
    assert stage.brings.opened[0].changes == 0
    stage.brings.on_tools_changed("s:/1")
    assert stage.brings.opened[0].changes == 1


async def test_what_a_session_had_open_is_closed_with_it() -> None:
    stage, chat = Stage(), RunningChat("c:/1", a_tool("ask", "db"))
    await stage.open(chat)
    stage.bridges.session_ended("s:/2")
    stage.bridges.session_ended("s:/1")
    await asyncio.wait_for(stage.brings.opened[0].closed.wait(), 60)
    await stage.open(chat)
    assert len(stage.brings.opened) == 2


async def test_only_so_many_chats_keep_theirs_between_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mcp_bridges, "MOST_CHATS", 2)
    stage = Stage()
    chats = [RunningChat(f"c:/{number}", a_tool("ask", "db")) for number in range(4)]
    for chat in chats[:2]:
        await stage.open(chat)
    # The first is at work, so that the second gives way.
    del stage.running["c:/1"]
    await stage.open(chats[2])
    await asyncio.wait_for(stage.brings.opened[1].closed.wait(), 60)
    assert not stage.brings.opened[0].closed.is_set()


async def test_a_host_without_what_it_takes_says_so() -> None:
    stage = Stage()
    stage.brings.works = False
    with pytest.raises(AgentError, match="MCP servers need: pip install"):
        await stage.open(RunningChat("c:/1", a_tool("ask", "db")))
