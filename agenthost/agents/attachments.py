"""Reads what is attached to a message: inside of it, in the session's folders, or at a client.

Always bytes, and never more than so many. Nothing is fetched from a network.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from agenthost.agents.api import AgentError
from agenthost.agents.folders import FileRefused, Folders
from agenthost.agents.turn_port import TurnPort
from agenthost.workspace import file_path

# Bytes of one attachment, unless the agent takes less.
MOST_BYTES = 10 * 1024 * 1024


async def read_attachment(
    port: TurnPort,
    attachment: Mapping[str, Any],
    directories: Sequence[str],
    most: int = MOST_BYTES,
) -> bytes:
    """Return what an attachment contains.

    Raises:
        AgentError: it has no content, that is not to be had, or it is more than ``most``.
    """
    match attachment["type"]:
        case "simple" if "modelRepresentation" in attachment:
            data = str(attachment["modelRepresentation"]).encode(errors="replace")
        case "embeddedResource":
            data = _embedded(attachment)
        case "resource":
            data = await _resource(port, str(attachment["uri"]), directories, most)
        case kind:
            raise _unreadable(attachment, f"a {kind} has no content of its own")
    if len(data) > most:
        raise _unreadable(attachment, "it is too large")
    return data


async def _resource(port: TurnPort, uri: str, directories: Sequence[str], most: int) -> bytes:
    path = file_path(uri)
    if path is None:
        return await port.read_published(uri)

    def read() -> bytes:
        return Folders(directories).read(str(path), most)

    try:
        return await asyncio.to_thread(read)
    except FileRefused as error:
        raise AgentError(str(error), "attachmentUnreadable") from error


def _embedded(attachment: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(attachment["data"], validate=True)
    except (binascii.Error, ValueError):
        raise _unreadable(attachment, "its data is not valid base64") from None


def _unreadable(attachment: Mapping[str, Any], why: str) -> AgentError:
    label = attachment.get("label", "an attachment")
    return AgentError(f"{label} cannot be read: {why}", "attachmentUnreadable")
