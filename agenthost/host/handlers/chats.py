"""Chats by command: create, dispose, and completing what a user types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenthost.errors import AuthRequired, InvalidParams, NotFound
from agenthost.host.dispatch import handles
from agenthost.host.loading import reveal

if TYPE_CHECKING:
    from agenthost.host.connection import Connection

__all__: list[str] = []

Params = dict[str, Any]


@handles("createChat")
async def create_chat(connection: Connection, params: Params) -> None:
    """Add a chat to a session: new, forked, or beside another."""
    core = connection.core
    session = await core.sessions.find(params["channel"])
    source = params.get("source")
    if source is not None:
        chat = await core.directory.find(source["chat"])
        if chat is not None and chat.kind == "chat":
            reveal(chat, source["turnId"])
    if "initialMessage" in params:
        missing = core.sessions.missing_tokens(session, connection.principal.name)
        if missing:
            raise AuthRequired(missing, "the agent needs you to sign in first")
    await core.chats.create(params, core.sessions.capabilities(session), connection.starter)


@handles("disposeChat")
async def dispose_chat(connection: Connection, params: Params) -> None:
    """Remove a chat from its session."""
    await connection.core.chats.dispose(params["channel"])


@handles("completions")
async def completions(connection: Connection, params: Params) -> dict[str, Any]:
    """Offer completions for a message in the making; there are none without a workspace."""
    channel = await connection.core.directory.find(params["channel"])
    if channel is None or channel.kind != "chat":
        raise NotFound(f"there is no chat {params['channel']}")
    # Clients count in UTF-16 code units.
    if params["offset"] > len(params["text"].encode("utf-16-le")) // 2:
        raise InvalidParams("the offset lies behind the text", path="offset")
    return {"items": []}
