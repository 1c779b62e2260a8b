"""Tools of the host's for a program that starts MCP servers, here another worker."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from collections.abc import AsyncIterator

import pytest

from agenthost.mcp.link import McpBridge, McpWorker
from agenthost.mcp.types import McpFailed, ServerDeclaration
from agenthost.protocol.common import JsonObject
from tests.children import gone
from tests.mcp.conftest import Serve

PICK: JsonObject = {"name": "pick", "description": "Picks.", "inputSchema": {"type": "object"}}
OTHER: JsonObject = {"name": "other", "inputSchema": {"type": "object"}}


class Tools:
    """Tools as a host has them."""

    def __init__(self) -> None:
        self.listed: list[JsonObject] = [PICK, {"no": "tool"}]
        self.called = asyncio.Event()
        self.cancelled = asyncio.Event()

    def list(self) -> list[JsonObject]:
        return self.listed

    async def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        self.called.set()
        if arguments.get("forever"):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if tool != "pick":
            raise McpFailed("no turn is running", "refused")
        return {"content": [{"type": "text", "text": f"picked {arguments}"}]}


@pytest.fixture
async def tools() -> Tools:
    return Tools()


@pytest.fixture
async def host() -> AsyncIterator[McpWorker]:
    host = McpWorker()
    yield host
    await host.close()


@pytest.fixture
async def bridge(host: McpWorker, tools: Tools) -> McpBridge:
    return await host.bridge("client", tools.list, tools.call)


def declared(bridge: McpBridge, **env: str) -> ServerDeclaration:
    return ServerDeclaration(bridge.name, command=bridge.command, env={**bridge.env, **env})


async def test_a_program_lists_and_calls_the_hosts_tools(bridge: McpBridge, serve: Serve) -> None:
    agent, events = serve(declared(bridge))
    assert await agent.start() == "ready"
    assert [tool.name for tool in events.offered[0]] == ["pick"]
    result = await agent.call("pick", {"x": 1}, call="1")
    assert result["content"][0]["text"] == "picked {'x': 1}"
    refused = await agent.call("other", {}, call="2")
    assert refused["isError"]
    assert refused["content"][0]["text"] == "no turn is running"


async def test_other_tools_are_told_at_once(bridge: McpBridge, tools: Tools, serve: Serve) -> None:
    agent, events = serve(declared(bridge))
    other, _ = serve(declared(bridge))
    await other.start()
    await agent.start()
    # Whoever leaves takes nobody with it.
    await other.stop()
    tools.listed = [PICK, OTHER]
    bridge.changed()
    await events.until(lambda: len(events.offered) > 1)
    assert [tool.name for tool in events.offered[-1]] == ["pick", "other"]


async def test_a_call_that_the_program_cancels_is_cancelled_here(
    bridge: McpBridge, tools: Tools, serve: Serve
) -> None:
    agent, _ = serve(declared(bridge))
    await agent.start()
    call = asyncio.create_task(agent.call("pick", {"forever": True}, call="1"))
    await tools.called.wait()
    call.cancel()
    async with asyncio.timeout(60):
        await tools.cancelled.wait()


async def test_only_who_has_the_key_gets_in(bridge: McpBridge, serve: Serve) -> None:
    agent, events = serve(declared(bridge, AGENTHOST_BRIDGE_KEY="wrong"))
    assert await agent.start() == "error"
    assert "ended" in events.detail
    socket = bridge.env["AGENTHOST_BRIDGE"]
    assert stat.S_IMODE(os.stat(socket).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(socket)).st_mode) == 0o700


async def test_a_closed_bridge_lets_go(bridge: McpBridge, serve: Serve) -> None:
    agent, events = serve(declared(bridge))
    await agent.start()
    await bridge.close()
    await events.until(lambda: events.kinds[-1] == "error")
    assert not os.path.exists(bridge.env["AGENTHOST_BRIDGE"])  # noqa: ASYNC240
    assert await agent.start() == "error"
    assert "not there any more" in events.detail


async def test_a_bridge_is_there_again_with_the_next_worker(
    host: McpWorker, bridge: McpBridge, serve: Serve
) -> None:
    assert host.pid is not None
    os.kill(host.pid, signal.SIGKILL)
    await gone(host.pid)
    await host.bridge("another", list, _nothing)
    agent, _ = serve(declared(bridge))
    assert await agent.start() == "ready"


async def _nothing(tool: str, arguments: JsonObject) -> JsonObject:
    return {}
