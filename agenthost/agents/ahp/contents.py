"""What a far host keeps beside its state, fetched and kept here: bounded in size, number, time."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from agenthost.agents.api import AgentError
from agenthost.agents.turn import Turn
from agenthost.client import Client, ClientError
from agenthost.errors import WireError

log = logging.getLogger(__name__)

# Bytes of one content, and of all in one turn; and how many.
MOST_BYTES = 10 * 1024 * 1024
MOST_BYTES_IN_TURN = 64 * 1024 * 1024
MOST_CONTENTS = 500
# Seconds that fetching one may take.
PATIENCE = 20.0


class FarContents:
    """The contents of one far turn that are kept here, by their far URI."""

    def __init__(self, client: Client, turn: Turn) -> None:
        self._client = client
        self._turn = turn
        # Far URI -> a reference of ours; empty for what could not be had.
        self.kept: dict[str, Mapping[str, Any]] = {}
        self._room = MOST_BYTES_IN_TURN

    async def fetch(self, reference: Mapping[str, Any]) -> None:
        """Fetch and keep what a reference is for, once; what cannot be had is left where it is."""
        uri: str = reference["uri"]
        if uri in self.kept or len(self.kept) >= MOST_CONTENTS:
            return
        self.kept[uri] = {}
        hint = reference.get("sizeHint") or 0
        if hint > min(MOST_BYTES, self._room):
            return
        try:
            data = await self._read(uri)
            if len(data) > min(MOST_BYTES, self._room):
                return
            self._room -= len(data)
            content_type = reference.get("contentType")
            self.kept[uri] = await self._turn.store(data, content_type, name=_name(uri))
        except (ClientError, WireError, TimeoutError, AgentError, ValueError) as error:
            log.info("a content of a far host cannot be read: %s", type(error).__name__)

    async def _read(self, uri: str) -> bytes:
        async with asyncio.timeout(PATIENCE):
            read = await self._client.request("resourceRead", {"uri": uri})
        match read:
            case {"data": str(data), "encoding": "base64"}:
                try:
                    return base64.b64decode(data, validate=True)
                except binascii.Error as error:
                    raise ValueError("not base64") from error
            case {"data": str(data)}:
                return data.encode(errors="replace")
        raise ValueError("no content")


def _name(uri: str) -> str | None:
    """Return how a content is called, where its URI names a file besides what tells it apart."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.query and parts.path.startswith("/") else None
