"""What a client's tool returns, as the result of its call. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agenthost.protocol.chat.tool_state import ToolCallRunningState
    from agenthost.protocol.common import JsonObject


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result with content blocks, structured data or a summary."""

    content: Sequence[Mapping[str, Any]] = ()
    structured: Mapping[str, Any] | None = None
    # What was done, for people: "Read 3 files".
    summary: str | None = None


def blocks(content: str | Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """Return content as content blocks; a text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [dict(block) for block in content]


def succeeded(call: ToolCallRunningState, returned: Any) -> JsonObject:
    """Return the result of a call whose function returned something."""
    made = returned if isinstance(returned, ToolResult) else _made(returned)
    name = call.get("displayName") or call["toolName"]
    result: JsonObject = {"success": True, "pastTenseMessage": made.summary or f"Ran {name}"}
    if made.content:
        result["content"] = [dict(block) for block in made.content]
    if made.structured is not None:
        result["structuredContent"] = dict(made.structured)
    return result


def _made(returned: Any) -> ToolResult:
    if returned is None:
        return ToolResult()
    if isinstance(returned, str):
        return ToolResult(blocks(returned))
    if isinstance(returned, Mapping):
        return ToolResult(blocks(json.dumps(returned)), structured=returned)
    return ToolResult(blocks(returned))


def failed(message: str) -> JsonObject:
    """Return the result of a call that failed, with the reason for the agent."""
    return {
        "success": False,
        "pastTenseMessage": message,
        "error": {"message": message},
    }
