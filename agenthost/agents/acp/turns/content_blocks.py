"""Content blocks in both directions: a message as a prompt, and what a tool shows as content."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acp import (
    audio_block,
    embedded_blob_resource,
    embedded_text_resource,
    image_block,
    resource_block,
    resource_link_block,
    text_block,
)
from acp.schema import (
    AudioContentBlock,
    Diff,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    PromptCapabilities,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from agenthost.agents import content
from agenthost.agents.turn import Turn

Block = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

# A larger text or file travels as a reference.
MOST_INLINE = 64 * 1024
# Of a large text this much is shown beside the reference.
MOST_SHOWN = 16 * 1024


def as_prompt(
    message: Mapping[str, Any], capabilities: PromptCapabilities, introduction: str = ""
) -> list[Block]:
    """Return a message and its attachments as a prompt that the agent can take."""
    blocks: list[Block] = [text_block(text) for text in (introduction, message["text"]) if text]
    blocks += [_attachment(item, capabilities) for item in message.get("attachments", ())]
    return blocks or [text_block("")]


def _attachment(item: Mapping[str, Any], capabilities: PromptCapabilities) -> Block:
    label = item["label"]
    match item.get("type"):
        case "simple":
            return text_block(f"{label}:\n{item.get('modelRepresentation', '')}")
        case "resource":
            return resource_link_block(
                label,
                item["uri"],
                mime_type=item.get("contentType"),
                size=item.get("sizeHint"),
                description=_selected(item),
            )
        case "embeddedResource":
            return _embedded(item, capabilities)
        case kind:
            return text_block(f"[{label} is attached; its kind ({kind}) cannot be shown here.]")


def _selected(item: Mapping[str, Any]) -> str | None:
    chosen = (item.get("selection") or {}).get("range")
    if chosen is None:
        return None
    # AHP counts lines from zero, people from one.
    return f"lines {chosen['start']['line'] + 1} to {chosen['end']['line'] + 1} are selected"


def _embedded(item: Mapping[str, Any], capabilities: PromptCapabilities) -> Block:
    kind, data, label = item["contentType"], item["data"], item["label"]
    if kind.startswith("image/") and capabilities.image:
        return image_block(data, kind)
    if kind.startswith("audio/") and capabilities.audio:
        return audio_block(data, kind)
    text = _text_of(data)
    if text is None and not capabilities.embedded_context:
        return text_block(f"[{label} is attached; the agent takes no content of type {kind}.]")
    if not capabilities.embedded_context:
        return text_block(f"{label}:\n{text}")
    uri = f"attachment:///{label}"
    if text is None:
        return resource_block(embedded_blob_resource(uri, data, mime_type=kind))
    return resource_block(embedded_text_resource(uri, text, mime_type=kind))


def _text_of(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def as_markdown(block: Block) -> str | None:
    """Return a block of an answer as markdown; None when it is data."""
    if isinstance(block, ResourceContentBlock):
        return f"[{block.title or block.name}]({block.uri})"
    return text_of(block)


def text_of(block: Block) -> str | None:
    """Return the text that a block carries; None when it carries none."""
    match block:
        case TextContentBlock():
            return block.text
        case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource):
            return resource.text
        case _:
            return None


def binary_of(block: Block) -> tuple[bytes, str] | None:
    """Return the data that a block carries and its type; None when it carries none."""
    match block:
        case ImageContentBlock() | AudioContentBlock():
            encoded, kind = block.data, block.mime_type
        case EmbeddedResourceContentBlock(resource=resource) if not isinstance(
            resource, TextResourceContents
        ):
            encoded, kind = resource.blob, resource.mime_type or "application/octet-stream"
        case _:
            return None
    try:
        return base64.b64decode(encoded, validate=True), kind
    except (binascii.Error, ValueError):
        return None


async def as_content(turn: Turn, block: Block) -> list[dict[str, Any]]:
    """Return a block of a tool's output as AHP content."""
    if isinstance(block, ResourceContentBlock):
        ref: dict[str, Any] = {"uri": block.uri}
        if block.mime_type is not None:
            ref["contentType"] = block.mime_type
        return [content.resource(ref)]
    text = text_of(block)
    if text is not None:
        return await as_text(turn, text)
    found = binary_of(block)
    if found is None:
        return []
    data, kind = found
    if len(data) <= MOST_INLINE:
        return [content.embedded(data, kind)]
    return [content.resource(await turn.store(data, kind))]


async def as_text(turn: Turn, text: str) -> list[dict[str, Any]]:
    """Return text as AHP content; of a long one the end, and a reference to all of it."""
    if not text:
        return []
    if len(text) <= MOST_INLINE:
        return [content.text(text)]
    ref = await turn.store(text.encode(errors="replace"), "text/plain")
    return [content.text(text[-MOST_SHOWN:]), content.resource(ref)]


async def as_edit(turn: Turn, diff: Diff, folder: str) -> dict[str, Any]:
    """Return a diff as a FileEdit whose two sides can be fetched."""
    before = None if diff.old_text is None else _encodable(diff.old_text)
    file = Path(folder) / diff.path
    return await content.stored_edit(turn, file, before, _encodable(diff.new_text))


def _encodable(text: str) -> str:
    # Agents may cut text in the middle of a character.
    return text.encode(errors="replace").decode()
