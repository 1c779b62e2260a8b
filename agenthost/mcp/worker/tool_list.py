"""The tools of a server, all pages of them, as the host gets them."""

from __future__ import annotations

import orjson
from mcp import Client
from mcp_types import Tool

from agenthost.mcp.limits import (
    LONGEST_TOOL_DESCRIPTION,
    LONGEST_TOOL_NAME,
    LONGEST_TOOL_TITLE,
    MOST_SCHEMA_BYTES,
    MOST_TOOL_BYTES,
    MOST_TOOL_META,
    MOST_TOOL_PAGES,
    MOST_TOOLS,
)
from agenthost.mcp.types import McpFailed
from agenthost.protocol.common import JsonObject


async def list_tools(client: Client) -> tuple[list[JsonObject], str]:
    """Return the tools, and what to tell about those that were left out.

    Raises:
        McpFailed: one of them cannot be described at all.
    """
    if client.server_capabilities.tools is None:
        return [], ""
    found: dict[str, JsonObject] = {}
    left_out = 0
    size = 0
    cursor: str | None = None
    for _ in range(MOST_TOOL_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        for tool in page.tools:
            if not _is_usable(tool, found):
                left_out += 1
                continue
            told = _told(tool)
            more = _size(told)
            is_short = _size(told["inputSchema"]) <= MOST_SCHEMA_BYTES
            if not is_short or size + more > MOST_TOOL_BYTES:
                left_out += 1
                continue
            found[tool.name] = told
            size += more
        cursor = page.next_cursor
        if cursor is None or len(found) >= MOST_TOOLS:
            break
    note = f"{left_out} tools cannot be offered" if left_out else ""
    if cursor is not None:
        note = f"only the first {len(found)} tools are offered"
    return list(found.values()), note


def _is_usable(tool: Tool, found: dict[str, JsonObject]) -> bool:
    return (
        len(found) < MOST_TOOLS
        and 0 < len(tool.name) <= LONGEST_TOOL_NAME
        and tool.name.isprintable()
        and tool.name not in found
    )


def _size(tool: JsonObject) -> int:
    try:
        return len(orjson.dumps(tool))
    except TypeError as error:
        # A number that no JSON of ours can hold, or too many levels.
        raise McpFailed("one of its tools cannot be described", "refused") from error


def _told(tool: Tool) -> JsonObject:
    hints = tool.annotations
    read_only = hints is not None and hints.read_only_hint is True
    destructive = None if hints is None else hints.destructive_hint
    title = tool.title or (hints.title if hints is not None else None) or tool.name
    return {
        "name": tool.name,
        "title": title[:LONGEST_TOOL_TITLE],
        "description": (tool.description or "")[:LONGEST_TOOL_DESCRIPTION],
        "inputSchema": tool.input_schema,
        "meta": None if tool.meta is None or _size(tool.meta) > MOST_TOOL_META else tool.meta,
        "readOnly": read_only,
        # Unless a server says otherwise, as MCP has it.
        "destructive": not read_only if destructive is None else destructive,
    }
