"""Chats by command: create, dispose, and completing what a user types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenthost.agents.api import SlashCommand
from agenthost.errors import AuthRequired, InvalidParams, NotFound
from agenthost.host.channels.chat.loading import reveal
from agenthost.host.clients.methods import handles

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection

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
    capabilities, models = core.sessions.capabilities(session), core.sessions.models(session)
    await core.chats.create(params, capabilities, models, connection.starter)


@handles("disposeChat")
async def dispose_chat(connection: Connection, params: Params) -> None:
    """Remove a chat from its session."""
    await connection.core.chats.dispose(params["channel"])


@handles("completions")
async def completions(connection: Connection, params: Params) -> dict[str, Any]:
    """Offer what a message in the making could go on with: the agent's slash commands."""
    core = connection.core
    channel = await core.directory.find(params["channel"])
    # Some editors name the session, for it is the agent's commands that are completed.
    if channel is None or channel.kind not in ("chat", "session"):
        raise NotFound(f"there is no chat {params['channel']}")
    # Clients count in UTF-16 code units.
    typed = params["text"].encode("utf-16-le")
    if params["offset"] > len(typed) // 2:
        raise InvalidParams("the offset lies behind the text", path="offset")
    before = typed[: 2 * params["offset"]].decode("utf-16-le", "replace")
    session = channel if channel.kind == "session" else core.directory.get(channel.session or "")
    agent = core.agents.get(session.state["provider"]) if session is not None else None
    if agent is None or not before.startswith("/") or any(map(str.isspace, before)):
        return {"items": []}
    offered = [c for c in agent.slash_commands if c.name.startswith(before[1:])]
    return {"items": [_completion(command, params["offset"]) for command in offered]}


def _completion(command: SlashCommand, typed: int) -> dict[str, Any]:
    described = {"description": command.description, "argumentHint": command.argument_hint}
    meta = {key: value for key, value in described.items() if value}
    return {
        "insertText": f"/{command.name} ",
        "rangeStart": 0,
        "rangeEnd": typed,
        "attachment": {
            "type": "simple",
            "label": f"/{command.name}",
            "_meta": {"command": command.name, **meta},
        },
    }
