"""Windows of turns: where they begin, cursors to older turns, and how those are shown.

A cursor names a turn, not a number, so it stays right whatever else happens to the chat. A
subscriber may hold the end of a chat only (``encoded_turns`` cuts its snapshot). Clients take an
action that names a turn they do not hold for a mistake, so whoever names one shows it first.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from agenthost.errors import InvalidParams
from agenthost.host.delivery.envelopes import encode_envelope
from agenthost.protocol.versions import translator

if TYPE_CHECKING:
    from agenthost.host.channels.chat.extra import ChatChannel
    from agenthost.host.log.channel import Subscription
    from agenthost.protocol.common import Action

# Keeps one page of turns below what common tunnels pass in one frame.
MOST_PAGE_BYTES = 800 * 1024

# What the cursor behind the last turn says; a turn's own begins with "<", whatever its id.
_END = ">"

Turns: TypeAlias = Sequence[Mapping[str, object]]


def cursor_before(turns: Turns, position: int) -> str:
    """Return the cursor that stands for everything before a position."""
    return _encode(f"<{turns[position]['id']}" if position < len(turns) else _END)


def position_of(turns: Turns, cursor: str) -> int:
    """Return the position that a cursor stands for, or raise InvalidParams."""
    text = _decode(cursor)
    if text == _END:
        return len(turns)
    for position, turn in enumerate(turns):
        if text == f"<{turn['id']}":
            return position
    raise InvalidParams("the cursor is not known here", path="cursor")


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str | None:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        # Decoding is lenient; only what was given out, to the letter, is a cursor.
        return text if _encode(text) == cursor else None
    except ValueError:
        return None


def first_shown(turns: Turns, newest: int | None) -> int:
    """Return the position of the first turn to show to someone who asked for the newest ones."""
    return 0 if newest is None else max(0, len(turns) - newest)


def page_start(sizes: Sequence[int], end: int, most: int) -> int:
    """Return where the page that ends before ``end`` starts: one turn at least, ``most`` at most.

    An ``end`` behind the last turn, as a chat that was cut leaves it, is the last turn.
    """
    end = min(end, len(sizes))
    start, size = end, 0
    while start > 0 and end - start < most:
        size += sizes[start - 1]
        if size > MOST_PAGE_BYTES and start < end:
            break
        start -= 1
    return start


def show_turn(chat: ChatChannel, turn_id: str) -> None:
    """Show a turn to every subscriber that was not shown it, before something names it."""
    turns = chat.state["turns"]
    position = next((i for i, turn in enumerate(turns) if turn["id"] == turn_id), None)
    if position is None:
        return
    for subscription in chat.subscriptions.values():
        if position < subscription.window:
            load_turns(chat, subscription, position, subscription.window)


def load_turns(chat: ChatChannel, subscription: Subscription, start: int, end: int) -> None:
    """Send a subscriber the turns of a range, as ``chat/turnsLoaded``."""
    connection, turns = subscription.connection, chat.state["turns"]
    down = translator(connection.version).turn_down
    action: Action = {
        "type": "chat/turnsLoaded",
        "turns": [down(turn) for turn in turns[start:end]],
    }
    if start > 0:
        action["turnsNextCursor"] = cursor_before(turns, start)
    subscription.window = min(subscription.window, start)
    connection.core.clients.note_view(connection.client_id, chat.uri, subscription.view)
    seq = connection.core.writer.ledger.take_seq()
    connection.send(encode_envelope(subscription.uri, action, seq).payload)
