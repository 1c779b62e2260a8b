"""The part of the screen that is always there: what goes on, what waits, and how the host is doing.

Pure: moments and the connection's state are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agenthost.cli.interactive import blocks
from agenthost.cli.interactive.text import EMPTY, Line, clip, line, plain, spread
from agenthost.cli.render import one_line
from agenthost.client import Closed, Connected, ConnectionState, Reconnecting

__all__ = ["Link", "Place", "bar", "busy_line", "link_note", "pending_lines", "unsent_lines"]

Json = Mapping[str, Any]

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAMES_PER_SECOND = 8

# What the keys do, said ever more briefly for want of room.
_BUSY = (
    "Enter queues · !text steers · Ctrl-C cancels · Ctrl-D leaves",
    "!text steers · Ctrl-C cancels · Ctrl-D leaves",
    "Ctrl-C cancels · Ctrl-D leaves",
    "Ctrl-C cancels",
)
_IDLE = ("/help · Ctrl-D leaves", "/help")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one is: the agent, the session, and how to come back."""

    agent: str
    title: str
    id: str
    # The chat's title, where it is not the session's default one.
    chat: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """The connection, and since when it is as it is by the monotonic clock."""

    state: ConnectionState
    since: float = 0.0

    @property
    def is_up(self) -> bool:
        """Whether the host is there."""
        return isinstance(self.state, Connected)


def busy_line(chat: Json, since: float, now: float, link: Link) -> Line:
    """Return the line that shows a turn at work."""
    seconds = max(int(now - since), 0)
    took = f" · {seconds} s" if seconds < 60 else f" · {seconds // 60} min {seconds % 60} s"
    doing = one_line(chat.get("activity") or "") or "working"
    if not link.is_up:
        return line(("dim", f"· {doing}, when last heard of"))
    mark = SPINNER[int(now * FRAMES_PER_SECOND) % len(SPINNER)]
    return line(("busy", f"{mark} "), ("dim", f"{doing}{took}"))


def unsent_lines(chat: Json, confirmed: Json, link: Link, width: int) -> list[Line]:
    """Return a message that the host has not taken yet."""
    active, known = chat.get("activeTurn"), confirmed.get("activeTurn")
    if active is None or (known is not None and known["id"] == active["id"]):
        return []
    why = "sending…" if link.is_up else "waits for the connection"
    return [EMPTY, *blocks.message_lines(active["message"], width), line(("dim", f"  {why}"))]


def pending_lines(chat: Json, width: int) -> list[Line]:
    """Return what waits for its turn, and what the agent has still to hear."""
    lines: list[Line] = []
    steering = chat.get("steeringMessage")
    if steering is not None:
        text = one_line(steering["message"]["text"])
        lines.append(clip(line(("busy", "steer "), ("dim", text)), width))
    for number, queued in enumerate(chat.get("queuedMessages") or (), 1):
        text = one_line(queued["message"]["text"])
        lines.append(clip(line(("busy", f"queued {number} "), ("dim", text)), width))
    if lines and "activeTurn" not in chat:
        # A turn that did not end well holds them back.
        lines.append(line(("dim", "this waits until the next turn is over · /unqueue")))
    return lines


def bar(place: Place, link: Link, *, running: bool, now: float, width: int) -> Line:
    """Return the last row: where one is and what the keys do, or what is wrong."""
    match link.state:
        case Connected():
            where = _where(place)
            room = width - len(plain(where)) - 2
            keys = next((keys for keys in (_BUSY if running else _IDLE) if len(keys) <= room), "")
            return spread(where, line(("dim", keys)), width)
        case Reconnecting(delay=delay):
            left = max(round(link.since + delay - now), 0)
            when = f"trying again in {left} s" if left else "trying again"
            return spread(_where(place), line(("bad", f"○ connection lost · {when}")), width)
        case Closed():
            return spread(_where(place), line(("bad", "○ disconnected")), width)
    return spread(_where(place), line(("ask", "○ connecting…")), width)


def link_note(state: ConnectionState, lost: bool) -> Line | None:
    """Return what to tell of the connection; ``lost`` is whether its loss was told."""
    if isinstance(state, Reconnecting) and not lost:
        return line(("ask", "! "), f"connection lost: {one_line(state.reason)}")
    if isinstance(state, Connected) and lost:
        return line(("good", "✓ "), "connected again")
    return None


def _where(place: Place) -> Line:
    parts = [place.agent, one_line(place.title)[:28], place.chat, place.id]
    return line(("dim", " · ".join(part for part in parts if part)))
