"""Builders for the content of tool calls: text, data, references, edits."""

from __future__ import annotations

import asyncio
import base64
import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from agenthost.agents.turn import Turn

__all__ = ["embedded", "file_edit", "resource", "subagent", "terminal", "text"]

Content = dict[str, Any]

# Comparing more lines takes too long to be worth it; all of them then count as changed.
MOST_COMPARED = 2000


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
    uri = file.as_uri()
    kept = await turn.store(after.encode(), "text/plain", name=str(file))
    edit: dict[str, Any] = {"after": {"uri": uri, "content": kept}}
    if before is not None:
        kept = await turn.store(before.encode(), "text/plain", name=str(file))
        edit["before"] = {"uri": uri, "content": kept}
    return {**edit, "diff": await asyncio.to_thread(changed_lines, before or "", after)}


def changed_lines(before: str, after: str) -> dict[str, int]:
    """Count the lines that a change adds and removes."""
    old, new = before.splitlines(), after.splitlines()
    start = _same(old, new)
    old, new = old[start:], new[start:]
    end = _same(old[::-1], new[::-1])
    old, new = old[: len(old) - end], new[: len(new) - end]
    kept = 0
    if len(old) + len(new) <= MOST_COMPARED:
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        kept = sum(block.size for block in blocks)
    return {"added": len(new) - kept, "removed": len(old) - kept}


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(old), len(new)))
