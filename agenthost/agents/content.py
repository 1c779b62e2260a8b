"""What a tool call shows and returns: small builders for result content."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

__all__ = ["embedded", "file_edit", "resource", "subagent", "text"]

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
