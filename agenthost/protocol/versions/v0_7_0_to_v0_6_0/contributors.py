"""Who contributes a tool call, when that is known only as the call gets ready.

0.6.0 hears of a contributor when a call starts and never again, and without one it lets no call
pause for authentication. So a late contributor is told by telling the whole turn anew.
"""

from __future__ import annotations

from typing import Final

from agenthost.protocol.json_edits import carry
from agenthost.protocol.versions.node_edits import Json, put

# A turn of more parts is not told anew: what an agent says about each of many calls must not cost
# more and more. An old client then shows a call that waits for authentication as running.
MOST_PARTS: Final = 1000


def actions_to_retell(before: Json, action: Json, after: Json) -> int:
    """Say how many actions tell the turn anew; none if no call has another contributor now."""
    turn, later = before.get("activeTurn"), after.get("activeTurn")
    if turn is None or later is None or turn["id"] != action["turnId"]:
        return 0
    parts = turn["responseParts"]
    pairs = zip(parts, later["responseParts"], strict=True)
    changed = any(old is not new and _told(old) != _told(new) for old, new in pairs)
    if not changed or len(parts) > MOST_PARTS:
        return 0
    return 1 + len(parts) + ("usage" in turn)


def turn_told_anew(older: Json, action: Json, after: Json) -> list[Json]:
    """Return what tells the active turn of a 0.6.0 state, with the contributors of ``after``."""
    turn, named = older["activeTurn"], {"turnId": action["turnId"]}
    started = {"type": "chat/turnStarted", **named, **carry(turn, "startedAt", "message")}
    parts = [
        {"type": "chat/responsePart", **named, "part": _refined(part, later)}
        for part, later in zip(
            turn["responseParts"], after["activeTurn"]["responseParts"], strict=True
        )
    ]
    usage = [{"type": "chat/usage", **named, "usage": turn["usage"]}] if "usage" in turn else []
    return [started, *parts, *usage]


def _told(part: Json) -> object:
    return part["toolCall"].get("contributor") if part["kind"] == "toolCall" else None


def _refined(part: Json, later: Json) -> Json:
    if part["kind"] != "toolCall":
        return part
    call = part["toolCall"]
    for member in ("contributor", "intention"):
        call = put(call, member, later["toolCall"].get(member))
    return {**part, "toolCall": call}
