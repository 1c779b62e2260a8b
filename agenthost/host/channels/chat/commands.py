"""Chats by command: create, dispose, load older turns, and complete what a user types."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agenthost.agents.api import SlashCommand
from agenthost.errors import AuthRequired, InvalidParams, NotFound
from agenthost.host.channels.chat.extra import turn_sizes
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.window import load_turns, page_start, position_of, show_turn
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.clients.methods import handles
from agenthost.protocol.versions import translator, turns_page

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.chat.commands import CompletionItem, CompletionsResult
    from agenthost.protocol.common import JsonObject


@handles("createChat")
async def create_chat(connection: Connection, params: JsonObject) -> None:
    """Add a chat to a session: new, forked, or beside another."""
    core = connection.core
    session = await core.sessions.find(params["channel"])
    source = params.get("source")
    if source is not None:
        chat = await core.directory.find(source["chat"], CHAT)
        if chat is not None:
            show_turn(chat, source["turnId"])
    if "initialMessage" in params:
        missing = core.sessions.missing_tokens(session, connection.principal.name)
        if missing:
            raise AuthRequired(missing, "the agent needs you to sign in first")
    capabilities, models = core.sessions.capabilities(session), core.sessions.models(session)
    await core.chats.create(params, capabilities, models, connection.starter)


@handles("disposeChat")
async def dispose_chat(connection: Connection, params: JsonObject) -> None:
    """Remove a chat from its session."""
    await connection.core.chats.dispose(params["channel"])


@handles("fetchTurns")
async def fetch_turns(connection: Connection, params: JsonObject) -> JsonObject:
    """Send the next older turns as ``chat/turnsLoaded``, then answer."""
    core = connection.core
    chat = await core.directory.find(params["channel"], CHAT)
    if chat is None:
        raise NotFound(f"there is no chat {params['channel']}")
    turns, most = chat.state["turns"], core.limits.max_turns_page
    if not translator(connection.version).pages_into_state:
        page = turns_page(cast("list[JsonObject]", turns), params, cap=most)
        down = translator(connection.version).turn_down
        return {**page, "turns": [down(turn) for turn in page["turns"]]}
    subscription = connection.subscriptions.get(chat)
    shown = end = subscription.window if subscription is not None else 0
    if "cursor" in params:
        # One kept from an earlier window may lie on either side of this one.
        end = min(shown, position_of(turns, params["cursor"]))
    start = page_start(turn_sizes(chat), end, most)
    if subscription is not None:
        # Up to what was shown, so that no turn in between is ever left out.
        load_turns(chat, subscription, start, shown)
    return {}


@handles("completions")
async def completions(connection: Connection, params: JsonObject) -> CompletionsResult:
    """Offer what a message in the making could go on with: the agent's slash commands."""
    core = connection.core
    channel = await core.directory.find(params["channel"])
    # Some editors name the session, for it is the agent's commands that are completed.
    if channel is None or channel.kind not in (CHAT, SESSION):
        raise NotFound(f"there is no chat {params['channel']}")
    # Clients count in UTF-16 code units.
    typed = params["text"].encode("utf-16-le")
    if params["offset"] > len(typed) // 2:
        raise InvalidParams("the offset lies behind the text", path="offset")
    before = typed[: 2 * params["offset"]].decode("utf-16-le", "replace")
    session = channel if channel.kind is SESSION else core.directory.owner(channel)
    agent = core.agents.get(session.state["provider"]) if session is not None else None
    if agent is None or not before.startswith("/") or any(map(str.isspace, before)):
        return {"items": []}
    offered = [c for c in agent.slash_commands if c.name.startswith(before[1:])]
    return {"items": [_completion(command, params["offset"]) for command in offered]}


def _completion(command: SlashCommand, typed: int) -> CompletionItem:
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
