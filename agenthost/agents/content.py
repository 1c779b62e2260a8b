"""Builders for the content of tool calls: text, data, references, edits."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agenthost.line_matching import matching_blocks

if TYPE_CHECKING:
    from pathlib import Path

    from agenthost.agents.turn import Turn
    from agenthost.agents.turn_port import TurnPort

__all__ = ["embedded", "file_edit", "resource", "subagent", "terminal", "text"]

Content = dict[str, Any]


def text(value: str) -> Content:
    """Return text."""
    return {"type": "text", "text": value}


def embedded(data: bytes, content_type: str) -> Content:
    """Return small binary data, carried inline."""
    encoded = base64.b64encode(data).decode()
    return {"type": "embeddedResource", "data": encoded, "contentType": content_type}


def resource(ref: Mapping[str, Any]) -> Content:
    """Return a reference to content that clients fetch when they want it."""
    return {"type": "resource", **ref}


def file_edit(edit: Mapping[str, Any]) -> Content:
    """Return a change that was made to a file."""
    return {"type": "fileEdit", **edit}


def subagent(
    chat: str, title: str, *, agent_name: str | None = None, description: str | None = None
) -> Content:
    """Return a pointer to the chat in which a worker works, and who that is."""
    told = {"agentName": agent_name, "description": description}
    known = {key: value for key, value in told.items() if value is not None}
    return {"type": "subagent", "resource": chat, "title": title, **known}


def terminal(uri: str, title: str, result: Mapping[str, Any] | None = None) -> Content:
    """Return a pointer to the terminal in which a tool works; without ``result`` it still does."""
    block = {"type": "terminal", "resource": uri, "title": title, "isPty": True}
    return block if result is None else {**block, "result": dict(result)}


async def stored_edit(turn: Turn, file: Path, before: str | None, after: str) -> dict[str, Any]:
    """Keep both sides of a change for clients to fetch, and return it as a FileEdit.

    ``before`` is None where the file is new.
    """
    return await kept_edit(turn.port, file, before, after)


async def kept_edit(
    port: TurnPort, file: Path, before: str | None, after: str | None
) -> dict[str, Any]:
    """Do as ``stored_edit`` does; ``after`` is None where the file goes."""
    edit: dict[str, Any] = {}
    for side, text in (("before", before), ("after", after)):
        if text is not None:
            data = text.encode(errors="replace")
            kept = await port.store_content(data, "text/plain", str(file))
            edit[side] = {"uri": file.as_uri(), "content": kept}
    return {**edit, "diff": await asyncio.to_thread(changed_lines, before or "", after or "")}


def changed_lines(before: str, after: str) -> dict[str, int]:
    """Count the lines that a change adds and removes."""
    changes = [
        block
        for block in matching_blocks(before.splitlines(), after.splitlines())
        if not block.same
    ]
    return {
        "added": sum(block.new_to - block.new_from for block in changes),
        "removed": sum(block.old_to - block.old_from for block in changes),
    }
