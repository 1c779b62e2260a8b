"""What waits for the user: approvals and questions, of this chat and of the session's others.

Pure. Finds them in state, and says what became of one that is gone. How one is asked is
``approvals``' and ``questions``'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agenthost.cli.render import markdown_of, one_line

__all__ = ["Pending", "settled_how", "waiting"]

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pending:
    """Something that cannot go on without somebody's word."""

    chat: str
    id: str
    kind: Literal["call", "result", "questions"]
    # The tool call or the request, as state has it.
    item: Json = field(hash=False)
    # Unknown for questions, which need none.
    turn_id: str = ""
    # The chat's title, where it is not the one on the screen.
    place: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same one, though its details change."""
        return self.chat, self.kind, self.id


def waiting(chat_uri: str, chat: Json, session: Json) -> list[Pending]:
    """Return all that waits, this chat's first."""
    own = list(_in_turn(chat_uri, chat.get("activeTurn")))
    return [*own, *_elsewhere(chat_uri, session)]


def settled_how(pending: Pending, chat: Json) -> str:
    """Say what became of something that waited and waits no more."""
    if pending.place:
        return f"answered in {pending.place}"
    part = next((part for part in _parts(chat) if _is(pending, part)), None)
    if part is None:
        return "withdrawn"
    if pending.kind == "questions":
        words = {"accept": "answered", "decline": "declined", "cancel": "dismissed"}
        return words.get(str(part.get("response")), "not answered: the turn ended")
    return _call_outcome(part["toolCall"])


def _call_outcome(call: Json) -> str:
    if call["status"] != "cancelled":
        chosen = (call.get("selectedOption") or {}).get("label")
        return f"approved ({one_line(chosen)})" if chosen else "approved"
    why = one_line(markdown_of(call.get("reasonMessage")))
    word = "skipped" if call["reason"] == "skipped" else "denied"
    return f"{word}: {why}" if why else word


def _in_turn(chat: str, turn: Json | None) -> Iterator[Pending]:
    for part in () if turn is None else turn["responseParts"]:
        if part["kind"] == "inputRequest" and part.get("response") is None:
            yield Pending(chat, part["request"]["id"], "questions", part["request"])
        elif part["kind"] == "toolCall":
            yield from _call(chat, str(turn["id"] if turn else ""), part["toolCall"])


def _call(chat: str, turn_id: str, call: Json, place: str = "") -> Iterator[Pending]:
    if call["status"] == "pending-confirmation":
        yield Pending(chat, call["toolCallId"], "call", call, turn_id, place)
    elif call["status"] == "pending-result-confirmation":
        yield Pending(chat, call["toolCallId"], "result", call, turn_id, place)


def _elsewhere(own: str, session: Json) -> Iterator[Pending]:
    titles = {chat["resource"]: one_line(chat["title"]) for chat in session["chats"]}
    for entry in session.get("inputNeeded") or ():
        if entry["chat"] == own:
            continue
        place = titles.get(entry["chat"]) or "another chat"
        if entry["kind"] == "chatInput":
            request = entry["request"]
            yield Pending(entry["chat"], request["id"], "questions", request, place=place)
        elif entry["kind"] == "toolConfirmation":
            yield from _call(entry["chat"], entry["turnId"], entry["toolCall"], place)


def _parts(chat: Json) -> Iterator[Json]:
    """Yield the newest parts, in which anything that just waited must be."""
    active = chat.get("activeTurn")
    if active is not None:
        yield from active["responseParts"]
    for turn in chat["turns"][-1:]:
        yield from turn["responseParts"]


def _is(pending: Pending, part: Json) -> bool:
    if pending.kind == "questions":
        return bool(part["kind"] == "inputRequest" and part["request"]["id"] == pending.id)
    return bool(part["kind"] == "toolCall" and part["toolCall"]["toolCallId"] == pending.id)
