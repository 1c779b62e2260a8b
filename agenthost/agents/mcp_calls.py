"""Calls of MCP servers' tools in a turn: shown with their server's name, run, and their results.

For every agent that uses such tools. Whether people are asked first is the agent's affair: between
``begin_mcp_call`` and ``run_mcp_call`` it has the call approved, or starts it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agenthost.agents.api import AgentError
from agenthost.agents.mcp_results import McpResult, fitting_object, read_mcp_result
from agenthost.agents.mcp_tools import OfferedTool
from agenthost.agents.tool_call import ToolCall
from agenthost.agents.turn import Turn


def begin_mcp_call(turn: Turn, tool: OfferedTool, *, input: Any = None) -> ToolCall:
    """Begin a call of a server's tool: ``async with begin_mcp_call(turn, tool) as call``."""
    return turn.tool(
        tool.name,
        input=input,
        display_name=tool.label,
        meta=mcp_call_meta(tool),
        contributor=tool.contributor,
    )


def mcp_call_meta(tool: OfferedTool) -> dict[str, Any]:
    """Return what programs are told of a call: its server, and the page that may show it."""
    meta: dict[str, Any] = {"mcpServerName": tool.server_label}
    ui = fitting_object((tool.meta or {}).get("ui"))
    return meta if ui is None else {**meta, "ui": ui}


async def run_mcp_call(
    turn: Turn, tool: OfferedTool, call: ToolCall, arguments: Mapping[str, Any]
) -> McpResult:
    """Call a server's tool in a call that runs, show what comes of it, and end the call.

    Raises:
        AgentError: there is no result; the call has failed, or somebody has given it up.
    """
    try:
        result = await call_mcp_tool(turn, tool, call, arguments)
    except AgentError as error:
        if call.status in ("running", "auth-required"):
            await call.fail(str(error), code=error.error_type)
        raise
    read = await read_mcp_result(turn, result)
    if read.is_error:
        await call.show(*read.blocks)
        await call.fail(read.reason, code="toolError")
    else:
        done = f"Used {tool.label} of {tool.server_label}"
        await call.complete(done, read.blocks, structured=read.structured)
    return read


async def call_mcp_tool(
    turn: Turn, tool: OfferedTool, call: ToolCall, arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Call a server's tool in a call that runs, and return its CallToolResult as it came.

    The call goes on running: whoever shows it ends it.

    Raises:
        AgentError: there is no result, or somebody has ended the call meanwhile.
    """
    await turn.port.may_act()
    working = asyncio.ensure_future(turn.mcp.call(tool, call.id, arguments))
    ending = asyncio.ensure_future(call.ended())
    try:
        await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise AgentError("somebody gave up this call", "givenUp")
        return working.result()
    finally:
        for task in (working, ending):
            task.cancel()
            # What comes of it is nobody's concern any more.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
