"""The trash by command: what is in it, taking a session back, deleting one for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.host.clients.methods import handles

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.commands import ListTrashResult
    from agenthost.protocol.common import JsonObject


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
