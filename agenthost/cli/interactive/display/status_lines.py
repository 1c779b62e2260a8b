"""Status lines at the bottom of the chat: activity, queue, connection.

Pure: moments and the connection's state are handed in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from agenthost.cli.format.chat_changes import work_text
from agenthost.cli.format.terminal_text import clip as clip_text
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.display import blocks
from agenthost.cli.interactive.display.styled_text import (
    EMPTY,
    Fragment,
    StyledLine,
    clip_line,
    line,
    spread,
    text_of,
    width_of,
)
from agenthost.client import Closed, Connected, ConnectionState, Reconnecting

Json = Mapping[str, Any]

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAMES_PER_SECOND = 8

LONGEST_TITLE = 28
"""Columns of a title that tell it from others."""

LONGEST_MODEL = 24
"""Columns of the name of a model."""

NEARLY_FULL = 0.8
"""The part of the context from which on it is worth a look."""

# What the keys do, said ever more briefly for want of room.
_BUSY = (
    "Enter queues · !text steers · Ctrl-C cancels · Ctrl-D leaves",
    "!text steers · Ctrl-C cancels · Ctrl-D leaves",
    "Ctrl-C cancels · Ctrl-D leaves",
    "Ctrl-C cancels",
)
# The same while something is asked, when a line is an answer.
_ASKING = _BUSY[2:]
_IDLE = ("/help · Ctrl-D leaves", "/help")


@dataclass(frozen=True, slots=True)
class ChatLocation:
    """What the status bar shows of where one is, and of how the session works."""

    agent: str
    title: str
    id: str
    # The chat's title, where it is not the session's default one.
    chat: str = ""
    # What goes ahead without asking, where anything does.
    approvals: str = ""
    model: str = ""
    # Tokens in the context, and what part of it they are, up to 1; None where nobody says.
    tokens: int | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class ConnectionView:
    """The connection's state, and since when by the monotonic clock."""

    state: ConnectionState
    since: float = 0.0

    @property
    def is_up(self) -> bool:
        """Whether the client is connected."""
        return isinstance(self.state, Connected)


def seconds_since(moment: str, now: datetime) -> float:
    """Return how many seconds ago a time was; 0 if it cannot be read."""
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return 0.0
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return max((now - then).total_seconds(), 0.0)


def busy_line(chat: Json, since: float, now: float, link: ConnectionView) -> StyledLine:
    """Return the line of a running turn: spinner, activity, duration."""
    seconds = max(int(now - since), 0)
    took = f" · {seconds} s" if seconds < 60 else f" · {seconds // 60} min {seconds % 60} s"
    doing = one_line(chat.get("activity") or "") or "working"
    if not link.is_up:
        return line(("dim", f"· {doing}, when last heard of"))
    mark = SPINNER[int(now * FRAMES_PER_SECOND) % len(SPINNER)]
    return line(("busy", f"{mark} "), ("dim", f"{doing}{took}"))


def unsent_lines(chat: Json, confirmed: Json, link: ConnectionView, width: int) -> list[StyledLine]:
    """Return a message that the host has not confirmed yet."""
    active, known = chat.get("activeTurn"), confirmed.get("activeTurn")
    if active is None or (known is not None and known["id"] == active["id"]):
        return []
    why = "sending…" if link.is_up else "waits for the connection"
    return [EMPTY, *blocks.message_lines(active["message"], width), line(("dim", f"  {why}"))]


def pending_lines(chat: Json, width: int) -> list[StyledLine]:
    """Return the steering message and the queued messages."""
    lines: list[StyledLine] = []
    steering = chat.get("steeringMessage")
    if steering is not None:
        text = one_line(steering["message"]["text"])
        lines.append(clip_line(line(("busy", "steer "), ("dim", text)), width))
    for number, queued in enumerate(chat.get("queuedMessages") or (), 1):
        text = one_line(queued["message"]["text"])
        lines.append(clip_line(line(("busy", f"queued {number} "), ("dim", text)), width))
    if lines and "activeTurn" not in chat:
        # A turn that did not end well holds them back.
        lines.append(line(("dim", "this waits until the next turn is over · /unqueue")))
    return lines


def background_lines(chat: Json, width: int) -> list[StyledLine]:
    """Return what runs on in the background of a chat, whether or not a turn does."""
    return [
        clip_line(line(("busy", "⟳ "), ("dim", f"in the background: {work_text(work)}")), width)
        for work in chat.get("backgroundWork") or ()
    ]


def bar(
    place: ChatLocation,
    link: ConnectionView,
    *,
    running: bool,
    asking: bool = False,
    now: float,
    width: int,
) -> StyledLine:
    """Return the status bar: location and keys, or the connection's problem."""
    match link.state:
        case Connected():
            keys = _ASKING if asking else _BUSY if running else _IDLE
            return _ends(place, "dim", keys, width)
        case Reconnecting(delay=delay):
            left = max(round(link.since + delay - now), 0)
            when = f"trying again in {left} s" if left else "trying again"
            told = (f"○ connection lost · {when}", "○ connection lost")
            return _ends(place, "bad", told, width)
        case Closed():
            return _ends(place, "bad", ("○ disconnected",), width)
    return _ends(place, "ask", ("○ connecting…",), width)


def _ends(place: ChatLocation, style: str, texts: Sequence[str], width: int) -> StyledLine:
    """Return a row with the location on the left and the longest text that fits on the right.

    What can be found elsewhere gives way before the last text does, the least important first.
    """
    for where in _ever_shorter(place):
        room = width - width_of(text_of(where)) - 2
        for text in texts:
            if width_of(text) <= room:
                return spread(where, line((style, text)), width)
    return clip_line(line((style, texts[-1])) if style != "dim" else where, width)


def link_note(state: ConnectionState, lost: bool) -> StyledLine | None:
    """Return the notice for a connection change; ``lost`` is whether its loss was noted."""
    if isinstance(state, Reconnecting) and not lost:
        return line(("ask", "! "), f"connection lost: {one_line(state.reason)}")
    if isinstance(state, Connected) and lost:
        return line(("good", "✓ "), "connected again")
    return None


def _ever_shorter(place: ChatLocation) -> Iterator[StyledLine]:
    """Yield the location with ever less in it, down to the agent."""
    yield _where(place)
    yield _where(place := replace(place, title=""))
    yield _where(place := replace(place, id=""))
    yield _where(place := replace(place, tokens=None))
    yield _where(place, brief=True)
    yield _where(place := replace(place, chat=""), brief=True)
    yield _where(place := replace(place, model=""), brief=True)
    yield _where(place := replace(place, share=None))
    # Last, because what goes ahead without asking must not be forgotten.
    yield _where(replace(place, approvals=""))


def _where(place: ChatLocation, *, brief: bool = False) -> StyledLine:
    parts = [
        ("dim", place.agent),
        ("dim", place.chat),
        ("dim", clip_text(place.model, LONGEST_MODEL)),
        ("dim", place.approvals),
        ("dim", "" if place.tokens is None else f"{short_count(place.tokens)} tokens"),
        _share(place.share, brief=brief),
        ("dim", clip_text(one_line(place.title), LONGEST_TITLE)),
        ("dim", place.id),
    ]
    shown = [part for part in parts if part[1]]
    return line(*[piece for part in shown for piece in (("dim", " · "), part)][1:])


def _share(share: float | None, *, brief: bool) -> Fragment:
    if share is None:
        return ("dim", "")
    text = f"{share:.0%}".replace("%", " %")
    return ("busy" if share >= NEARLY_FULL else "dim", text if brief else f"{text} of context")


def short_count(number: int) -> str:
    """Return a number in few characters: 940, 1.2k, 12k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        # What would be rounded up to a thousand of these is one of the next.
        if number >= size * 0.9995:
            amount = number / size
            return f"{amount:.1f}{unit}" if amount < 99.95 else f"{amount:.0f}{unit}"
    return str(number)
