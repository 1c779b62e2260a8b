"""Moving a chat: whether it may go, what goes with it, and where it stands afterwards (pure).

A chat takes the chats of its workers along, and theirs. Does not move anything: ``move_commands``
does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from agenthost.errors import InvalidParams, NotFound, PermissionDenied, TurnInProgress

if TYPE_CHECKING:
    from agenthost.protocol.chat.state import ChatState, ChatSummary
    from agenthost.protocol.session.state import SessionState


class MovePlan(Struct, frozen=True):
    """What is to be done."""

    # The entries that leave their session, the chat's own first; none where it stays in it.
    moved: Sequence[ChatSummary]
    # All chats of the destination, in their order afterwards.
    order: Sequence[str]


def plan_placement(chat: ChatState, session: SessionState, after: str | None) -> MovePlan:
    """Plan to move a chat within its session, where its workers stay where they are.

    Raises:
        PermissionDenied: the chat cannot be moved.
        InvalidParams: there is no such place.
    """
    _check_movable(chat)
    uri = chat["resource"]
    others = [entry["resource"] for entry in session["chats"] if entry["resource"] != uri]
    return MovePlan((), _placed([uri], others, uri, after))


def plan_move(
    chat: ChatState,
    source: SessionState,
    destination: SessionState,
    after: str | None,
    states: Mapping[str, ChatState],
) -> MovePlan:
    """Plan to move a chat to another session; ``states`` has at least the chats that go along.

    Raises:
        PermissionDenied: the chat cannot be moved, or not to this session.
        NotFound: the session takes no chats.
        InvalidParams: there is no such place in it.
        TurnInProgress: the chat, or one that goes along, is at work.
    """
    _check_movable(chat)
    if destination["lifecycle"] == "failed":
        raise NotFound("the session could not be created, so nothing can move there")
    entries = [each for each in family(chat["resource"], source) if each["resource"] in states]
    moved = [entry["resource"] for entry in entries]
    others = [entry["resource"] for entry in destination["chats"]]
    order = _placed(moved, others, chat["resource"], after)
    if source["provider"] != destination["provider"]:
        raise PermissionDenied("a chat can move only to a session of the same agent")
    folders = destination.get("workingDirectories") or ()
    for state in (states[uri] for uri in moved):
        if not set(state.get("workingDirectories", ())) <= set(folders):
            raise PermissionDenied("the chat works in folders that the session does not have")
    check_at_rest(states[uri] for uri in moved)
    return MovePlan(entries, order)


def plan_departure(
    chat: ChatState, source: SessionState, states: Mapping[str, ChatState]
) -> MovePlan:
    """Plan to move a chat to a session of its own.

    Raises:
        PermissionDenied: the chat cannot be moved.
        TurnInProgress: the chat, or one that goes along, is at work.
    """
    _check_movable(chat)
    entries = [each for each in family(chat["resource"], source) if each["resource"] in states]
    check_at_rest(states[entry["resource"]] for entry in entries)
    return MovePlan(entries, [entry["resource"] for entry in entries])


def family(chat: str, session: SessionState) -> list[ChatSummary]:
    """Return the entries of a chat and of all that its workers have, its own first."""
    found = {chat}
    # A worker's entry may stand before the one of the chat that it works for.
    while more := {
        entry["resource"]
        for entry in session["chats"]
        if entry["resource"] not in found and _boss(entry) in found
    }:
        found |= more
    entries = [entry for entry in session["chats"] if entry["resource"] in found]
    return sorted(entries, key=lambda entry: entry["resource"] != chat)


def check_at_rest(chats: Iterable[ChatState]) -> None:
    """Raise TurnInProgress if anything runs in one of the chats."""
    for chat in chats:
        if chat.get("activeTurn") is not None:
            raise TurnInProgress("a chat cannot move while a turn runs in it or for it")
        if chat.get("backgroundWork"):
            raise TurnInProgress("a chat cannot move while something works in its background")


def _check_movable(chat: ChatState) -> None:
    if chat.get("movable") is not True:
        raise PermissionDenied("this chat cannot be moved")


def _boss(entry: ChatSummary) -> str | None:
    """Return the chat that a worker's chat belongs to."""
    origin = entry.get("origin")
    return origin["chat"] if origin and origin["kind"] == "tool" else None


def _placed(moved: Sequence[str], others: Sequence[str], chat: str, after: str | None) -> list[str]:
    if after is None:
        return [*moved, *others]
    if after == chat:
        raise InvalidParams("a chat cannot stand behind itself", path="destination.after")
    if after not in others:
        raise InvalidParams("the session has no such chat", path="destination.after")
    at = others.index(after) + 1
    return [*others[:at], *moved, *others[at:]]
