"""``moveChat``: a chat goes to another place in its session, or with its workers to another one.

All of a move is decided and stored in one step: whoever looks before it or after it, also after a
crash, finds the chat in exactly one session. The chat itself goes on as it is, and so do those who
follow it.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from agenthost.errors import InvalidParams, NotFound
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.move import (
    MovePlan,
    plan_departure,
    plan_move,
    plan_placement,
)
from agenthost.host.channels.session.content_owners import content_of
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.clients.methods import handles
from agenthost.protocol.uris import session_uri

if TYPE_CHECKING:
    from agenthost.host.channels.chat.extra import ChatChannel
    from agenthost.host.channels.session.kind import SessionChannel
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.protocol.chat.commands import MoveChatResult
    from agenthost.protocol.common import JsonObject

# How often a chat is looked for that others move at the same time.
MOST_LOOKS = 3


@handles("moveChat")
async def move_chat(connection: Connection, params: JsonObject) -> MoveChatResult:
    """Move a chat, and say in which session it is then."""
    core, destination = connection.core, params["destination"]
    match destination["kind"]:
        case "session":
            target = await _session(core, destination["session"])
            after = await _anchor(core, destination.get("after"))
            chat, chats = await _load(core, params["channel"], target)
            session = _move(core, chat, chats, target, after)
        case "newSession":
            chat, chats = await _load(core, params["channel"])
            session = _depart(core, chat, chats)
        case kind:
            raise InvalidParams(f"this host knows no destination {kind}", path="destination.kind")
    return {"session": session.uri}


async def _session(core: HostCore, uri: str) -> SessionChannel:
    session = await core.directory.find(uri, SESSION)
    if session is None:
        raise NotFound(f"there is no session {uri}")
    return session


async def _anchor(core: HostCore, uri: str | None) -> str | None:
    """Return the name under which the chat is registered that another is to stand behind."""
    chat = await core.directory.find(uri, CHAT) if uri is not None else None
    return chat.uri if chat is not None else uri


async def _load(
    core: HostCore, uri: str, target: SessionChannel | None = None
) -> tuple[ChatChannel, dict[str, ChatChannel]]:
    """Return a chat, and all chats of its session as they are now; alone where it stays there."""
    for _ in range(MOST_LOOKS):
        chat = await core.directory.find(uri, CHAT)
        if chat is None:
            break
        source = _owner(core, chat)
        if source is target:
            return chat, {chat.uri: chat}
        chats = {each.uri: each for each in await core.sessions.chats_of(source)}
        if chat.uri in chats:
            return chat, chats
        # It went to another session meanwhile, or is gone.
    raise NotFound(f"there is no chat {uri}")


def _owner(core: HostCore, chat: ChatChannel) -> SessionChannel:
    owner = core.directory.owner(chat)
    assert owner is not None, "a chat's session is in memory as long as the chat is"
    return owner


# From here on nothing is awaited: what is found to be allowed is still allowed when it is done.


def _move(
    core: HostCore,
    chat: ChatChannel,
    chats: dict[str, ChatChannel],
    target: SessionChannel,
    after: str | None,
) -> SessionChannel:
    source = _owner(core, chat)
    if source is target:
        plan = plan_placement(chat.state, source.state, after)
    else:
        if not core.directory.has(target):
            raise NotFound(f"there is no session {target.uri}")
        states = {uri: each.state for uri, each in chats.items()}
        plan = plan_move(chat.state, source.state, target.state, after, states)
        _transfer(core, plan, chats, source, target)
        # It holds something now.
        core.drafts.forget(target.uri)
    _reorder(core, plan, target)
    return target


def _depart(core: HostCore, chat: ChatChannel, chats: dict[str, ChatChannel]) -> SessionChannel:
    source = _owner(core, chat)
    plan = plan_departure(
        chat.state, source.state, {uri: each.state for uri, each in chats.items()}
    )
    target = core.sessions.begin_beside(source, session_uri(str(uuid.uuid4())), chat)
    _transfer(core, plan, chats, source, target)
    # Before it becomes the default chat: no default chat is ever movable.
    core.writer.apply(chat, {"type": "chat/movableChanged", "movable": False})
    core.writer.apply(target, {"type": "session/defaultChatChanged", "defaultChat": chat.uri})
    core.sessions.announce(target)
    return target


def _transfer(
    core: HostCore,
    plan: MovePlan,
    chats: dict[str, ChatChannel],
    source: SessionChannel,
    target: SessionChannel,
) -> None:
    """Let chats belong to another session, with what they refer to, and tell those who follow."""
    gone = {entry["resource"] for entry in plan.moved}
    moved = content_of(chats[uri] for uri in gone)
    if moved:
        # To look through all that stays takes as long as that is.
        staying = content_of(each for uri, each in chats.items() if uri not in gone)
        core.content_owners.move(source.uri, target.uri, moved=moved, staying=staying)
    core.terminals.follow_chats(gone, target.uri)
    for uri in gone:
        core.directory.give(chats[uri], target)
    for entry in plan.moved:
        core.writer.apply(source, {"type": "session/chatRemoved", "chat": entry["resource"]})
    for entry in plan.moved:
        core.writer.apply(target, {"type": "session/chatAdded", "summary": dict(entry)})


def _reorder(core: HostCore, plan: MovePlan, session: SessionChannel) -> None:
    if [entry["resource"] for entry in session.state["chats"]] != list(plan.order):
        order = {"type": "session/chatsReordered", "chats": list(plan.order)}
        core.writer.apply(session, order)
