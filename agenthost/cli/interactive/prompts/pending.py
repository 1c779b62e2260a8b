"""Approvals and questions that wait for the user, in this chat and the session's others.

Pure. Finds them in state, and says what became of one that is gone. How one is asked is
``approvals``' and ``questions``'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agenthost.cli.format.terminal_text import one_line
from agenthost.protocol.markdown import markdown_of
from agenthost.protocol.session.input_needed import input_needed_in

Json = Mapping[str, Any]
PromptKind = Literal["call", "result", "questions"]


@dataclass(frozen=True, slots=True)
class Pending:
    """An approval or a request that waits for the user."""

    chat: str
    id: str
    kind: PromptKind
    # The tool call or the request, as state has it.
    item: Json = field(hash=False)
    # Unknown for questions, which need none.
    turn_id: str = ""
    # The chat's title, where it is not the one on the screen.
    place: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Its identity, which stays while its details change."""
        return self.chat, self.kind, self.id


def pending_prompts(
    chat_uri: str, chat: Json, chats: Iterable[Json], needed: Iterable[Json]
) -> list[Pending]:
    """Return all pending approvals and questions, this chat's first.

    Args:
        chat_uri: the chat on the screen.
        chat: its state.
        chats: all chats of its session, as that lists them.
        needed: what the session waits for.
    """
    titles = {item["resource"]: one_line(item["title"]) for item in chats}
    own = (_pending(entry) for entry in input_needed_in(chat_uri, chat))
    others = (
        _pending(entry, titles.get(entry["chat"]) or "another chat")
        for entry in needed
        if entry["chat"] != chat_uri
    )
    return [pending for pending in (*own, *others) if pending is not None]


def how_it_was_settled(pending: Pending, chat: Json) -> str:
    """Describe how a prompt was settled."""
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


def _pending(entry: Json, place: str = "") -> Pending | None:
    """Return an entry of ``inputNeeded`` as a prompt; None if it cannot be settled here."""
    if entry["kind"] == "chatInput":
        request = entry["request"]
        return Pending(entry["chat"], request["id"], "questions", request, place=place)
    if entry["kind"] == "toolConfirmation":
        call = entry["toolCall"]
        kind: PromptKind = "call" if call["status"] == "pending-confirmation" else "result"
        return Pending(entry["chat"], call["toolCallId"], kind, call, entry["turnId"], place)
    return None


def _parts(chat: Json) -> Iterator[Json]:
    """Yield the parts of the newest turns, where a prompt that was just settled must be."""
    active = chat.get("activeTurn")
    if active is not None:
        yield from active["responseParts"]
    for turn in chat["turns"][-1:]:
        yield from turn["responseParts"]


def _is(pending: Pending, part: Json) -> bool:
    if pending.kind == "questions":
        return bool(part["kind"] == "inputRequest" and part["request"]["id"] == pending.id)
    return bool(part["kind"] == "toolCall" and part["toolCall"]["toolCallId"] == pending.id)
