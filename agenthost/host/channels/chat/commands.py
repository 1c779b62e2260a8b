"""Chats by command: create, dispose, load older turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agenthost.errors import AuthRequired, NotFound
from agenthost.host.channels.chat.extra import turn_sizes
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.window import load_turns, page_start, position_of, show_turn
from agenthost.host.clients.methods import handles
from agenthost.protocol.versions import translator, turns_page

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
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
    agent = core.agents.get(session.state["provider"])
    await core.chats.create(params, agent, connection.starter)


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
