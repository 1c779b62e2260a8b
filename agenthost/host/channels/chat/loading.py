"""Showing subscribers older turns: those they ask for, and those that something is to name.

A subscriber may hold the end of a chat only. Clients take an action that names a turn they do not
hold for a mistake, so whoever names one shows it first.
"""

from __future__ import annotations

from typing import Any

from agenthost.host.channels.chat.window import cursor_before
from agenthost.host.delivery.envelopes import encode_envelope
from agenthost.host.log.channel import LiveChannel, Subscription
from agenthost.protocol.versions import translator


def reveal(channel: LiveChannel, turn_id: str) -> None:
    """Show a turn to every subscriber that was not shown it, before something names it."""
    turns = channel.state["turns"]
    position = next((i for i, turn in enumerate(turns) if turn["id"] == turn_id), None)
    if position is None:
        return
    for subscription in channel.subscriptions.values():
        if position < subscription.first_turn:
            load_turns(channel, subscription, position, subscription.first_turn)


def load_turns(channel: LiveChannel, subscription: Subscription, start: int, end: int) -> None:
    """Send a subscriber the turns of a range, as ``chat/turnsLoaded``."""
    connection, turns = subscription.connection, channel.state["turns"]
    down = translator(connection.version).turn_down
    action: dict[str, Any] = {
        "type": "chat/turnsLoaded",
        "turns": [down(turn) for turn in turns[start:end]],
    }
    if start > 0:
        action["turnsNextCursor"] = cursor_before(turns, start)
    subscription.first_turn = min(subscription.first_turn, start)
    connection.core.clients.note_view(connection.client_id, channel.uri, subscription.view)
    seq = connection.core.writer.ledger.take_seq()
    connection.send(encode_envelope(subscription.uri, action, seq).payload)
