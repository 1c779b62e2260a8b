"""A host that is there for the handshake, and gone when something is wanted of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

from agenthost.protocol import SUPPORTED_VERSIONS

__all__ = ["leaving"]

_MOMENT = "2026-01-01T00:00:00.000Z"
_SUMMARY = {
    "resource": "ahp-session:/aaaa",
    "provider": "x",
    "title": "T",
    "status": 1,
    "createdAt": _MOMENT,
    "modifiedAt": _MOMENT,
}
_RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": SUPPORTED_VERSIONS[0], "serverSeq": 1, "snapshots": []},
    "listSessions": {"items": [_SUMMARY]},
    "ping": None,
}


@asynccontextmanager
async def leaving(at: str) -> AsyncIterator[str]:
    """Serve one session, until a session is asked for with a method; yield the URL."""

    async def talk(connection: ServerConnection) -> None:
        async for text in connection:
            message = json.loads(text)
            channel = message.get("params", {}).get("channel", "")
            if message.get("method") == at and (at != "subscribe" or "session" in channel):
                server.close(close_connections=False)
                connection.transport.abort()
            elif "id" in message:
                state: Any = {"resource": channel, "state": {"agents": []}, "fromSeq": 1}
                result = _RESULTS.get(message["method"], {"snapshot": state})
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                await connection.send(json.dumps(answer))

    async with serve(talk, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}"
