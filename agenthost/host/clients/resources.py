"""Content that the host keeps outside of channel state, by ``resourceRead``."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from agenthost.errors import NotFound
from agenthost.host.clients.methods import handles

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject


@handles("resourceRead")
async def resource_read(connection: Connection, params: JsonObject) -> JsonObject:
    """Return stored content, as text where that is asked for and possible."""
    core = connection.core
    if core.writer.ledger.backlog:
        await core.writer.ledger.settle()
    blob = await core.store.blob(params["uri"])
    if blob is None:
        raise NotFound(f"there is no content {params['uri']}")
    result: JsonObject = {}
    if blob.content_type is not None:
        result["contentType"] = blob.content_type
    if params.get("encoding") != "base64":
        try:
            return {"data": blob.data.decode(), "encoding": "utf-8", **result}
        except UnicodeDecodeError:
            # Bytes that are no text travel as base64, whatever was asked for.
            pass
    return {"data": base64.b64encode(blob.data).decode(), "encoding": "base64", **result}
