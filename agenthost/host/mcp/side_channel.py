"""The ``mcp:`` side channel: what clients ask a running server themselves, for its apps' pages.

It bypasses the agent and its approvals, so it is narrow: the server must be ready, the client must
follow the session and take part in it, and of the tools only those may be called that the server
itself declares to be for its pages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from agenthost.errors import InternalError, MethodNotFound, NotFound, PermissionDenied, WireError
from agenthost.host.channels.session.participants import takes_part
from agenthost.host.mcp.session_server import SessionServer
from agenthost.mcp.types import McpFailed, McpTool

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.session.customizations import (
        AhpMcpUiHostCapabilities,
        McpServerCustomizationApps,
    )

_TOOLS = frozenset({"tools/list", "tools/call"})
_RESOURCES = frozenset({"resources/list", "resources/templates/list", "resources/read"})


def side_channel_of(server: SessionServer) -> str | None:
    """Return a server's side channel; None while it has none.

    There is one while the server is ready and somebody follows the session who can show apps. The
    state is shared, so that others see it too and make no use of it.
    """
    if not server.is_ready:
        return None
    followers = cast("Iterable[Connection]", server.session.subscriptions)
    if all("mcpApps" not in each.capabilities for each in followers):
        return None
    return _name(server)


def apps_of(server: SessionServer) -> McpServerCustomizationApps:
    """Return what a server's side channel serves."""
    served: AhpMcpUiHostCapabilities = {"serverTools": {}}
    if server.has_resources:
        served["serverResources"] = {}
    return {"capabilities": served}


async def answer(
    servers: Iterable[SessionServer],
    connection: Connection,
    channel: str,
    method: str,
    params: JsonObject,
    mask: Callable[[str], str],
) -> JsonObject:
    """Answer a request over a side channel; WireError if it is refused, or fails."""
    server = next((each for each in servers if _name(each) == channel), None)
    follows = server is not None and server.session in connection.subscriptions
    if server is None or not follows or not server.is_ready:
        raise NotFound(f"there is no MCP channel {channel[:200]}")
    if not takes_part(server.session, connection.principal):
        raise PermissionDenied("you take no part in that session")
    if method not in _TOOLS and not (method in _RESOURCES and server.has_resources):
        raise MethodNotFound(f"{method[:80]} is not served here")
    if method == "tools/call" and not _is_for_pages(server.offered, params.get("name")):
        raise MethodNotFound("this tool is not for the pages of apps")
    try:
        return await server.request(method, params)
    except McpFailed as error:
        if error.code is None:
            raise InternalError(mask(error.text)) from error
        told = {"code": error.code, "message": mask(error.text), "data": error.data}
        raise WireError.from_wire(told) from error


def _name(server: SessionServer) -> str:
    digest = hashlib.sha256(f"{server.session.uri}\0{server.id}".encode()).hexdigest()
    return f"mcp://{digest[:32]}"


def _is_for_pages(tools: Iterable[McpTool], name: object) -> bool:
    tool = next((each for each in tools if each.name == name), None)
    ui = (tool.meta or {}).get("ui") if tool is not None else None
    visibility = ui.get("visibility") if isinstance(ui, dict) else None
    return isinstance(visibility, list) and "app" in visibility
