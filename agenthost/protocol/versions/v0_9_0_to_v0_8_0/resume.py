"""A failed turn that goes on: one action in 0.9.0, the turn told anew in 0.8.0.

An older client takes the failed turn off its transcript, starts it again under its own id and
applies every part that it had; so it holds the turn as the newer one has it, without its failures.
"""

from __future__ import annotations

from collections.abc import Iterator

from agenthost.protocol.chat.active_turn import is_open_request
from agenthost.protocol.json_edits import carry
from agenthost.protocol.versions.node_edits import Json
from agenthost.protocol.versions.v0_9_0_to_v0_8_0.errors import is_error


def retelling_length(after: Json) -> int:
    """Return how many actions tell the resumed turn of a state in a newer form."""
    turn = after["activeTurn"]
    kept = sum(not is_error(part) for part in turn["responseParts"])
    cursor = not after["turns"] and "turnsNextCursor" in after
    return 2 + cursor + kept + ("usage" in turn)


def resumption(older: Json, last_turn: str | None) -> list[Json]:
    """Return what tells the resumed turn of a 0.8.0 state; ``last_turn`` is the one before it."""
    turn = older["activeTurn"]
    named = {"turnId": turn["id"]}
    usage = [{"type": "chat/usage", **named, "usage": turn["usage"]}] if "usage" in turn else []
    return [
        *_cut_back(older, last_turn),
        {"type": "chat/turnStarted", **named, **carry(turn, "startedAt", "message")},
        *_parts(turn),
        *usage,
    ]


def _cut_back(older: Json, last_turn: str | None) -> Iterator[Json]:
    """Take the failed turn off the transcript."""
    if last_turn is not None:
        yield {"type": "chat/truncated", "turnId": last_turn}
        return
    yield {"type": "chat/truncated"}
    if "turnsNextCursor" in older:
        # To drop every turn is to forget that there are earlier ones.
        yield {"type": "chat/turnsLoaded", "turns": [], **carry(older, "turnsNextCursor")}


def _parts(turn: Json) -> Iterator[Json]:
    asked: set[str] = set()
    for part in turn["responseParts"]:
        # A part that is merely added does not count as a wait; a request that is asked does. Asked
        # twice, it would be the first one edited.
        if is_open_request(part) and part["request"]["id"] not in asked:
            asked.add(part["request"]["id"])
            yield {"type": "chat/inputRequested", "request": part["request"]}
        else:
            yield {"type": "chat/responsePart", "turnId": turn["id"], "part": part}
