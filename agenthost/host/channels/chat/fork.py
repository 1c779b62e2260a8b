"""Forks and side chats: what a new chat takes from another, and the content that it copies.

Knows what a new chat shows, what its agent knows, and what cannot be derived from what. Does not
make the chat: ``lifecycle`` does.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field

from agenthost.errors import InvalidParams
from agenthost.host.channels.chat.attachments import history_for_agent
from agenthost.host.channels.chat.extra import extra_of
from agenthost.host.channels.titles import title_of
from agenthost.host.store import PutBlob
from agenthost.protocol.uris import content_name, content_uri

if TYPE_CHECKING:
    from agenthost.host.channels.chat.extra import ChatChannel
    from agenthost.host.channels.session.kind import SessionChannel
    from agenthost.host.log.ledger import Ledger
    from agenthost.host.store import Store
    from agenthost.protocol.chat.messages import MessageAttachment
    from agenthost.protocol.chat.state import ChatState, CompletedTurn
    from agenthost.protocol.common import JsonObject

_CONTENT = content_uri("")


class History(Struct, frozen=True):
    """What a new chat starts with."""

    # The turns that it shows.
    turns: Sequence[CompletedTurn] = ()
    # Turns before them that its agent knows of all the same.
    context: Sequence[CompletedTurn] = ()
    # What messages of its turns attach, where its agent is given that in another form.
    attached: Mapping[str, list[MessageAttachment]] = field(default_factory=dict)
    # The title of the chat that it comes from.
    title: str | None = None
    # Where it comes from, where the chat that it is for is to say so.
    origin: JsonObject | None = None


def new_chat_from(
    params: JsonObject, session: SessionChannel, source: ChatChannel | None
) -> tuple[JsonObject, History]:
    """Return a new chat's own fields and its history."""
    if source is None:
        return {**_directories(params, session), "origin": {"kind": "user"}}, History()
    wanted = params["source"]
    origin = {key: value for key, value in wanted.items() if value is not None}
    if wanted["kind"] == "fork":
        forked = fork_history(source, wanted["turnId"], session)
        if forked is None:
            raise InvalidParams("only a completed turn can be forked", path="source.turnId")
        inherited = source.state.get("workingDirectories")
        kept = {"workingDirectories": inherited} if inherited is not None else {}
        return {**kept, "title": forked.title, "origin": origin}, forked
    turns = _turns_so_far(source.state, wanted["turnId"])
    context = [*extra_of(source).context, *history_for_agent(source, turns)]
    return {**_directories(params, session), "origin": origin}, History(context=context)


def _turns_so_far(state: ChatState, turn_id: str) -> list[CompletedTurn]:
    """Return the turns up to one that is completed, or that is running now."""
    turns = _turns_through(state, turn_id)
    if turns is not None:
        return turns
    active = state.get("activeTurn")
    if active is None or active["id"] != turn_id:
        raise InvalidParams("the source has no such turn", path="source.turnId")
    # The partial answer as it stands now; what is streamed later changes nothing here.
    return [*state["turns"], cast("CompletedTurn", {**active, "state": "cancelled"})]


def fork_history(chat: ChatChannel, turn_id: str, session: SessionChannel) -> History | None:
    """Return what a fork of a chat starts with, or None when it has no such completed turn."""
    turns = _turns_through(chat.state, turn_id)
    if turns is None:
        return None
    kept = {turn["id"] for turn in turns}
    extra = extra_of(chat)
    attached = {id: items for id, items in extra.attached.items() if id in kept}
    return History(turns, extra.context, attached, title_of(chat, session))


def _turns_through(state: ChatState, turn_id: str) -> list[CompletedTurn] | None:
    """Return the completed turns up to and including one, or None when it is not among them."""
    for index, turn in enumerate(state["turns"]):
        if turn["id"] == turn_id:
            return list(state["turns"][: index + 1])
    return None


def _directories(params: JsonObject, session: SessionChannel) -> JsonObject:
    """Return the directories that a new chat chose among its session's, if it chose any."""
    chosen = params.get("workingDirectories")
    allowed = session.state.get("workingDirectories") or ()
    for index, directory in enumerate(chosen or ()):
        if directory not in allowed:
            raise InvalidParams(
                "the directory is not among the session's working directories",
                path=f"workingDirectories[{index}]",
            )
    return {"workingDirectories": list(chosen)} if chosen is not None else {}


async def copy_content(
    turns: Sequence[CompletedTurn], owner: str, store: Store, ledger: Ledger
) -> Sequence[CompletedTurn]:
    """Copy the content that turns refer to for another owner; return them with the new references.

    Blobs go with the session that owns them, so a fork that is to outlive its source needs its own.
    """
    copies: dict[str, str] = {}
    for uri in dict.fromkeys(_references(turns)):
        blob = await store.blob(uri)
        if blob is not None:
            copies[uri] = content_uri(str(uuid.uuid4()), content_name(uri))
            ledger.write(PutBlob(copies[uri], owner, blob.content_type, blob.data))
    return [cast("CompletedTurn", _renamed(turn, copies)) for turn in turns] if copies else turns


def _references(value: object) -> Iterator[str]:
    """Yield every reference to stored content, wherever it stands and whatever it is for."""
    if isinstance(value, str):
        if value.startswith(_CONTENT):
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _references(item)


def _renamed(value: object, copies: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return copies.get(value, value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, copies) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(item, copies) for item in value]
    return value
