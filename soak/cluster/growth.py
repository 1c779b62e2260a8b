"""What a later state of a channel lacks of an earlier one. Pure.

The clients of this soak never take anything back: turns, chats, remarks and text only come to be.
So whatever a state has, every later one must have, and what has ended must stay as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["lost", "turns_of"]

Json = Mapping[str, Any]


def turns_of(chat: Json) -> dict[str, Json]:
    """Return the turns of a chat by their ids, the running one last."""
    active = chat.get("activeTurn")
    return {turn["id"]: turn for turn in (*chat["turns"], *([active] if active else []))}


def lost(before: Json, after: Json) -> Iterator[str]:
    """Say what of an earlier state a later one lacks."""
    if "turns" in before:
        yield from _lost_of_chat(before, after)
    elif "chats" in before:
        yield from _gone("chat", (chat["resource"] for chat in before["chats"]), after["chats"])
    elif "annotations" in before:
        ids = (each["id"] for each in before["annotations"])
        yield from _gone("annotation", ids, after["annotations"])


def _gone(what: str, names: Iterator[str], there: list[Json]) -> Iterator[str]:
    left = {each.get("resource") if what == "chat" else each["id"] for each in there}
    yield from (f"{what} {name} is gone" for name in names if name not in left)


def _lost_of_chat(before: Json, after: Json) -> Iterator[str]:
    later = turns_of(after)
    ended = {turn["id"] for turn in before["turns"]}
    order = [id for id in later if id in turns_of(before)]
    if order != [id for id in turns_of(before) if id in later]:
        yield "turns have changed places"
    for id, turn in turns_of(before).items():
        if id not in later:
            yield f"turn {id} is gone"
        elif id in ended and turn != later[id]:
            yield f"turn {id} had ended and is another now"
        else:
            yield from (f"turn {id}: {what}" for what in _lost_of_turn(turn, later[id]))


def _lost_of_turn(before: Json, after: Json) -> Iterator[str]:
    parts = {_name(part): part for part in after["responseParts"]}
    for part in before["responseParts"]:
        name = _name(part)
        if name not in parts:
            yield f"{part['kind']} {name} is gone"
        elif isinstance(text := part.get("content"), str):
            now = parts[name].get("content", "")
            if not now.startswith(text):
                yield f"text {name} was {_end(text)} and is {_end(now)}"


def _name(part: Json) -> str:
    call = part.get("toolCall") or {}
    return str(part.get("id") or call.get("toolCallId") or part["kind"])


def _end(text: str) -> str:
    return f"{len(text)} characters, the last {text[-30:]!r}"
