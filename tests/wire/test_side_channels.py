"""Requests that belong to no version of the protocol: MCP's own, by ``mcp:`` channels."""

from __future__ import annotations

import json

import pytest

from agenthost.protocol import SUPPORTED_VERSIONS
from tests.wire.client import open_client
from tests.wire.hosting import ServedHost

pytestmark = pytest.mark.asyncio(loop_scope="module")

MCP_METHODS = ("tools/list", "tools/call", "resources/read", "ping", "made/up", "subscribe")


@pytest.mark.parametrize("version", [SUPPORTED_VERSIONS[0], SUPPORTED_VERSIONS[-1]])
async def test_a_channel_that_leads_to_no_server_answers_every_method_with_its_error(
    shared_host: ServedHost, version: str
) -> None:
    async with open_client(shared_host.url, f"asks-{version}", version) as client:
        await client.initialize("ahp-root://")
        for method in MCP_METHODS:
            refused = await client.refusal(method, channel="mcp://nobody/1", name="x")
            assert refused.code == -32008
            assert "there is no MCP channel mcp://nobody/1" in refused.message
        # The same methods elsewhere are what they always were.
        await client.ping()
        unknown = await client.refusal("tools/list", channel="ahp-root://")
        assert unknown.code == -32601


@pytest.mark.parametrize("channel", ["mcp:", "mcp:///", "mcp:" + "x" * 5000, "mcp:\u2028\x00"])
async def test_whatever_the_channel_is_called_the_connection_goes_on(
    shared_host: ServedHost, channel: str
) -> None:
    async with open_client(shared_host.url, "names") as client:
        await client.initialize("ahp-root://")
        refused = await client.refusal("tools/list", channel=channel)
        assert refused.code == -32008
        assert len(refused.message) < 6000
        await client.ping()


@pytest.mark.parametrize("method", ["tools/list", "ping"])
async def test_nothing_goes_to_a_server_before_the_handshake(
    shared_host: ServedHost, method: str
) -> None:
    async with open_client(shared_host.url, "hasty") as client:
        params = {"channel": "mcp://nobody/1"}
        request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        answer = await client.exchange(json.dumps(request), 7)
        assert answer["error"]["code"] == -32600
        await client.initialize("ahp-root://")
        assert (await client.refusal(method, **params)).code == -32008
