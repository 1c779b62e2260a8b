"""The methods about MCP servers that the protocol has no actions for: logs, and whom to trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.errors import NotFound, SessionNotFound
from agenthost.host.channels.session.kind import SESSION, SessionChannel
from agenthost.host.clients.concurrent_requests import waiting_for_a_client
from agenthost.host.clients.methods import handles

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.own_commands import (
        CallMcpToolResult,
        ListTrustResult,
        McpLogResult,
    )


@handles("agenthost/mcpLog")
async def mcp_log(connection: Connection, params: JsonObject) -> McpLogResult:
    """Open the log of an MCP server."""
    session = await _session(connection, params["channel"])
    return {"terminal": await connection.core.mcp.open_log(session, params["id"])}


@handles("agenthost/callMcpTool")
async def call_mcp_tool(connection: Connection, params: JsonObject) -> CallMcpToolResult:
    """Call a tool of an MCP server outside of any turn."""
    session = await _session(connection, params["channel"])
    arguments = params.get("arguments", {})
    call = connection.core.mcp.call_tool(session, params["id"], params["tool"], arguments)
    # It may wait for this very client to sign in.
    with waiting_for_a_client():
        return {"result": await call}


@handles("agenthost/trustFolder")
async def trust_folder(connection: Connection, params: JsonObject) -> None:
    """Let MCP servers be started, for who has no turn to be asked in."""
    session = await _session(connection, params["channel"])
    core = connection.core
    seen = params.get("digests")
    await core.mcp.trust_servers(session, params["ids"], connection.principal, seen)
    await core.folder_trust.settled()


@handles("agenthost/forgetTrust")
async def forget_trust(connection: Connection, params: JsonObject) -> None:
    """Forget what was decided about the servers of a folder."""
    trust, folder = connection.core.folder_trust, params["folder"]
    if not trust.forget(folder):
        raise NotFound(f"nothing was decided about the servers of {folder[:500]}")
    await trust.settled()


@handles("agenthost/listTrust")
async def list_trust(connection: Connection, params: JsonObject) -> ListTrustResult:
    """Return what was decided about the servers of folders."""
    return {"items": connection.core.folder_trust.listed()}


async def _session(connection: Connection, uri: str) -> SessionChannel:
    session = await connection.core.directory.find(uri, SESSION)
    if session is None or not connection.may_follow(session, connection.version):
        raise SessionNotFound(f"there is no session {uri}")
    return session
