"""Sessions by command: create, dispose, list; and the trash: list, take back, purge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agenthost.errors import InvalidParams
from agenthost.host.clients.methods import EncodedResult, handles
from agenthost.protocol.jsonrpc import dumps, loads
from agenthost.protocol.uris import ROOT
from agenthost.protocol.versions import translator

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.commands import ListTrashResult
    from agenthost.protocol.common import JsonObject

# Seconds after which people want to be told what takes so long.
WORTH_TELLING = 1.0


@handles("createSession")
async def create_session(connection: Connection, params: JsonObject) -> None:
    """Create a session with its default chat."""
    active = params.get("activeClient")
    if active is not None and active["clientId"] != connection.client_id:
        raise InvalidParams("a client may only announce itself", path="activeClient.clientId")
    with _progress(connection, params.get("progressToken")):
        role = connection.principal.role
        await connection.core.sessions.create(params, connection.starter, role)


@handles("disposeSession")
async def dispose_session(connection: Connection, params: JsonObject) -> None:
    """Put a session away."""
    await connection.core.sessions.dispose(params["channel"])


@handles("listSessions")
async def list_sessions(connection: Connection, params: JsonObject) -> EncodedResult:
    """Return the catalogue, most recently modified first: a page, or all to who asks for none."""
    core = connection.core
    most = core.limits.max_sessions_page
    limit = min(params.get("limit", most), most)
    items, cursor = await core.catalogue.page(limit, params.get("cursor"))
    ladder = translator(connection.version)
    if not params.keys() & {"limit", "cursor"} or not ladder.pages_into_state:
        # Editors read one answer and follow no cursor, and old versions know none.
        while cursor is not None:
            more, cursor = await core.catalogue.page(most, cursor)
            items += more
    if not ladder.is_identity:
        result: JsonObject = {"items": [loads(item) for item in items]}
        if cursor is not None:
            result["nextCursor"] = cursor
        return EncodedResult(dumps(ladder.result_down("listSessions", params, result)))
    rest = b',"nextCursor":%b' % dumps(cursor) if cursor is not None else b""
    return EncodedResult(b'{"items":[', b",".join(items), b"]", rest, b"}")


@contextmanager
def _progress(connection: Connection, token: str | None) -> Iterator[None]:
    """Tell who asked for it that something takes long, and that it is done.

    What is done at once is not worth the notice that editors pop up for it.
    """
    core = connection.core
    told = False

    def report(progress: int, message: str) -> None:
        nonlocal told
        told = True
        step = {"progressToken": token, "progress": progress, "total": 2, "message": message}
        # Tokens are unique per client only, so nobody else is told.
        only = frozenset({connection})
        core.writer.notify(core.root, "root/progress", {"channel": ROOT, **step}, only=only)

    if token is None:
        yield
        return
    loop = asyncio.get_running_loop()
    timer = loop.call_later(WORTH_TELLING, report, 1, "copying what the session starts with")
    try:
        yield
    finally:
        timer.cancel()
        if told:
            report(2, "done")


@handles("agenthost/listTrash")
async def list_trash(connection: Connection, params: JsonObject) -> ListTrashResult:
    """Return the disposed sessions that can still be taken back."""
    return {"items": await connection.core.trash.entries()}


@handles("agenthost/restoreSession")
async def restore_session(connection: Connection, params: JsonObject) -> None:
    """Take a session back from the trash."""
    await connection.core.sessions.restore_disposed(params["channel"])


@handles("agenthost/purgeSession")
async def purge_session(connection: Connection, params: JsonObject) -> None:
    """Delete a session in the trash for good."""
    await connection.core.sessions.purge(params["channel"])
