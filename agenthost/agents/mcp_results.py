"""What a tool of an MCP server brought, for people and for a model.

Results are somebody else's data: of too much of anything the beginning is shown, the whole of a
long text is kept beside the chat, and what makes no sense is told in words.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agenthost.agents import content
from agenthost.agents.sanitize import json_copy, valid_text
from agenthost.agents.turn import Turn
from agenthost.protocol.jsonrpc import dumps

# Longer text is kept beside the chat, and this much of it shown.
MOST_INLINE: Final = 64 * 1024
MOST_SHOWN_OF_LONG: Final = 16 * 1024
# Blocks of one result that are looked at, and that are shown besides text.
MOST_READ: Final = 1000
MOST_BLOCKS: Final = 32
LONGEST_LINK: Final = 2000
# How deep what a tool returns besides may be nested, and how much of it is taken.
DEEPEST: Final = 32
# What clients can open by themselves.
_OPENABLE: Final = ("http://", "https://", "file://")


@dataclass(frozen=True, slots=True)
class McpResult:
    """The result of a tool: as people are shown it, and in words for a model."""

    text: str
    is_error: bool
    blocks: Sequence[Mapping[str, Any]] = ()
    structured: Mapping[str, Any] | None = None
    # As it came.
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why it failed, in a line."""
        lines = (line.strip() for line in self.text.splitlines())
        return next((line[:300] for line in lines if line), "the tool says that it failed")


@dataclass
class _Reading:
    """The result so far: text in pieces, and data by type."""

    texts: list[str] = field(default_factory=list)
    files: list[tuple[bytes, str]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    left_out: int = 0

    def add_file(self, encoded: object, kind: object) -> None:
        kind = kind if isinstance(kind, str) and kind else "application/octet-stream"
        kind = valid_text(kind[:100])
        try:
            data = base64.b64decode(encoded, validate=True) if isinstance(encoded, str) else None
        except (binascii.Error, ValueError):
            data = None
        if data is None:
            self.texts.append(f"({kind} that cannot be read)")
        elif len(self.files) + len(self.links) >= MOST_BLOCKS:
            self.left_out += 1
        else:
            self.files.append((data, kind))
            self.texts.append(f"({kind}, {len(data)} bytes, which the user is shown)")

    def add_link(self, link: Mapping[str, Any]) -> None:
        uri = link.get("uri")
        if not isinstance(uri, str) or not uri or len(uri) > LONGEST_LINK:
            self.texts.append("(a link that cannot be read)")
            return
        uri = valid_text(uri)
        name = link.get("name")
        self.texts.append(f"({valid_text(name[:200])}: {uri})" if isinstance(name, str) else uri)
        if not uri.startswith(_OPENABLE):
            return
        if len(self.files) + len(self.links) >= MOST_BLOCKS:
            self.left_out += 1
            return
        kind = link.get("mimeType")
        told = {"contentType": valid_text(kind[:100])} if isinstance(kind, str) else {}
        self.links.append(content.resource({"uri": uri, **told}))


async def read_mcp_result(turn: Turn, result: Mapping[str, Any]) -> McpResult:
    """Read a CallToolResult as it came; what is long is kept beside the chat."""
    # There may be megabytes of it, in base64.
    reading = await asyncio.to_thread(_read, result)
    structured = fitting_object(result.get("structuredContent"))
    if not reading.texts and structured is not None:
        reading.texts.append(dumps(structured).decode())
    if reading.left_out:
        reading.texts.append(f"({reading.left_out} more were left out)")
    text = "\n".join(reading.texts)
    blocks = [*await _shown_text(turn, text), *reading.links]
    for data, kind in reading.files:
        if len(data) <= MOST_INLINE:
            blocks.append(content.embedded(data, kind))
        else:
            blocks.append(content.resource(await turn.store(data, kind)))
    return McpResult(text, result.get("isError") is True, blocks, structured, result)


def _read(result: Mapping[str, Any]) -> _Reading:
    reading = _Reading()
    for item in _items(result.get("content"), reading):
        resource = item.get("resource")
        match item.get("type"):
            case "text" if isinstance(item.get("text"), str):
                reading.texts.append(valid_text(item["text"]))
            case "image" | "audio":
                reading.add_file(item.get("data"), item.get("mimeType"))
            case "resource_link":
                reading.add_link(item)
            case "resource" if isinstance(resource, Mapping):
                if isinstance(resource.get("text"), str):
                    reading.texts.append(valid_text(resource["text"]))
                else:
                    reading.add_file(resource.get("blob"), resource.get("mimeType"))
            case kind:
                reading.texts.append(f"({valid_text(str(kind))[:100]} that cannot be shown)")
    return reading


def _items(items: object, reading: _Reading) -> Iterator[Mapping[str, Any]]:
    found = items if isinstance(items, list) else []
    reading.left_out += max(0, len(found) - MOST_READ)
    for item in found[:MOST_READ]:
        yield item if isinstance(item, Mapping) else {"type": "something"}


async def _shown_text(turn: Turn, text: str) -> list[Mapping[str, Any]]:
    if len(text) <= MOST_INLINE:
        return [content.text(text)] if text else []
    ref = await turn.store(text.encode(), "text/plain")
    return [content.text(text[:MOST_SHOWN_OF_LONG]), content.resource(ref)]


def fitting_object(value: object) -> Mapping[str, Any] | None:
    """Return an object that is neither deep nor large; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    level: list[object] = [value]
    for _ in range(DEEPEST):
        inner: list[object] = []
        for each in level:
            if isinstance(each, Mapping):
                inner.extend(each.values())
            elif isinstance(each, list):
                inner.extend(each)
        if not inner:
            copied: Mapping[str, Any] = json_copy(value)
            return copied if len(dumps(copied)) <= MOST_INLINE else None
        if len(inner) > MOST_INLINE:
            return None
        level = inner
    return None
