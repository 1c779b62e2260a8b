"""Where a new chat starts from: from nothing, from another chat's turns, or beside them. Pure.

Knows what a new chat shows, what its agent knows, and what cannot be derived from what. Does not
make the chat: ``chats`` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agenthost.errors import InvalidParams
from agenthost.host.channels.chat.attachments import as_given
from agenthost.host.channels.chat.extra import ChatChannel, extra_of
from agenthost.host.channels.session.kind import SessionChannel


@dataclass(frozen=True, slots=True)
class History:
    """What a new chat starts with."""

    # The turns that it shows.
    turns: Sequence[Any] = ()
    # Turns before them that its agent knows of all the same.
    context: Sequence[Any] = ()
    # What messages of its turns attach, where its agent is given that in another form.
    attached: Mapping[str, list[Any]] = field(default_factory=dict)
    # The title of the chat that it comes from.
    title: str | None = None


def derive(
    params: Mapping[str, Any], session: SessionChannel, source: ChatChannel | None
) -> tuple[dict[str, Any], History]:
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
    context = [*extra_of(source).context, *(as_given(source, turn) for turn in turns)]
    return {**_directories(params, session), "origin": origin}, History(context=context)


def _turns_so_far(state: Mapping[str, Any], turn_id: str) -> list[Any]:
    """Return the turns up to one that is completed, or that is running now."""
    turns = _turns_through(state, turn_id)
    if turns is not None:
        return turns
    active = state.get("activeTurn")
    if active is None or active["id"] != turn_id:
        raise InvalidParams("the source has no such turn", path="source.turnId")
    # The partial answer as it stands now; what is streamed later changes nothing here.
    return [*state["turns"], {**active, "state": "cancelled"}]


def fork_history(chat: ChatChannel, turn_id: str, session: SessionChannel) -> History | None:
    """Return what a fork of a chat starts with, or None when it has no such completed turn."""
    turns = _turns_through(chat.state, turn_id)
    if turns is None:
        return None
    kept = {turn["id"] for turn in turns}
    extra = extra_of(chat)
    attached = {id: items for id, items in extra.attached.items() if id in kept}
    return History(turns, extra.context, attached, title_of(chat, session))


def title_of(chat: ChatChannel, session: SessionChannel) -> str:
    """Return a chat's title, which only its entry in the session keeps true."""
    for entry in session.state["chats"]:
        if entry["resource"] == chat.uri:
            title: str = entry["title"]
            return title
    return str(chat.state["title"])


def _turns_through(state: Mapping[str, Any], turn_id: str) -> list[Any] | None:
    """Return the completed turns up to and including one, or None when it is not among them."""
    for index, turn in enumerate(state["turns"]):
        if turn["id"] == turn_id:
            return list(state["turns"][: index + 1])
    return None


def _directories(params: Mapping[str, Any], session: SessionChannel) -> dict[str, Any]:
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
