"""Sessions by command: create, dispose, list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenthost.errors import InvalidParams
from agenthost.host.dispatch import EncodedResult, handles
from agenthost.host.sessions import Progress
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.protocol.uris import ROOT
from agenthost.protocol.versions import translator

if TYPE_CHECKING:
    from agenthost.host.connection import Connection

__all__: list[str] = []

Params = dict[str, Any]


@handles("createSession")
async def create_session(connection: Connection, params: Params) -> None:
    """Create a session; it gets ready after the answer."""
    active = params.get("activeClient")
    if active is not None and active["clientId"] != connection.client_id:
        raise InvalidParams("a client may only announce itself", path="activeClient.clientId")
    token = params.get("progressToken")
    progress = _progress(connection, token) if token is not None else None
    await connection.core.sessions.create(params, progress, connection.principal.name)


@handles("disposeSession")
async def dispose_session(connection: Connection, params: Params) -> None:
    """Put a session away."""
    await connection.core.sessions.dispose(params["channel"])


@handles("listSessions")
async def list_sessions(connection: Connection, params: Params) -> EncodedResult:
    """Return one page of the catalogue, most recently modified first."""
    core = connection.core
    most = core.limits.max_sessions_page
    limit = min(params.get("limit", most), most)
    items, cursor = await core.catalogue.page(limit, params.get("cursor"))
    ladder = translator(connection.version)
    if not ladder.pages_into_state:
        # This version knows no cursors: it gets everything at once.
        while cursor is not None:
            more, cursor = await core.catalogue.page(most, cursor)
            items += more
    if not ladder.is_identity:
        result: dict[str, Any] = {"items": [loads(item) for item in items]}
        if cursor is not None:
            result["nextCursor"] = cursor
        return EncodedResult(dumps(ladder.result_down("listSessions", params, result)))
    rest = b',"nextCursor":%b' % dumps(cursor) if cursor is not None else b""
    return EncodedResult(b'{"items":[', b",".join(items), b"]", rest, b"}")


def _progress(connection: Connection, token: str) -> Progress:
    core = connection.core

    def report(progress: int, total: int, message: str) -> None:
        frame = {
            "channel": ROOT,
            "progressToken": token,
            "progress": progress,
            "total": total,
            "message": message,
        }
        # Tokens are unique per client only, so nobody else is told.
        core.writer.notify(core.root, "root/progress", frame, only=frozenset({connection}))

    return report
