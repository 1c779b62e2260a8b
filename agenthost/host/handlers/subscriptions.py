"""Following channels: ``subscribe``, ``unsubscribe``, and ``fetchTurns`` for long chats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenthost.errors import NotFound, PermissionDenied
from agenthost.host.channel import Channel, Subscription
from agenthost.host.clients import EVERYTHING
from agenthost.host.dispatch import Encoded, handles
from agenthost.host.envelopes import encode_envelope
from agenthost.host.handlers.snapshots import follow, snapshot
from agenthost.host.windows import cursor_before, page_start, position_of
from agenthost.protocol.versions import translator, turns_page

if TYPE_CHECKING:
    from agenthost.host.connection import Connection

__all__ = ["reveal"]

Params = dict[str, Any]


@handles("subscribe")
async def subscribe(connection: Connection, params: Params) -> Encoded:
    """Answer with a snapshot, and send every later action of the channel."""
    uri = params["channel"]
    channel = await connection.core.directory.find(uri)
    if channel is None:
        raise NotFound(f"there is no channel {uri}")
    limit = connection.core.limits.max_subscriptions
    if channel not in connection.subscriptions and len(connection.subscriptions) >= limit:
        raise PermissionDenied(f"a connection may follow {limit} channels at once")
    latency = params.get("delivery", {}).get("maxLatencyMs")
    subscription = follow(
        connection,
        channel,
        uri,
        newest_turns=params.get("view", {}).get("turns"),
        max_latency=min(latency / 1000, MOST_LATENCY) if latency else None,
    )
    connection.core.clients.note_view(connection.client_id, channel.uri, subscription.view)
    return Encoded(b'{"snapshot":', *snapshot(connection, channel, subscription), b"}")


# Seconds: a client that asks for more gathering than this would look dead.
MOST_LATENCY = 5.0


@handles("unsubscribe")
async def unsubscribe(connection: Connection, params: Params) -> None:
    """Stop sending a channel's actions; an active client that leaves its session leaves it."""
    core = connection.core
    channel = core.directory.get(params["channel"])
    if channel is None or not connection.unsubscribe(channel):
        return
    core.clients.note_view(connection.client_id, channel.uri, EVERYTHING)
    if channel.kind == "session":
        core.clients.withdraw(connection.client_id, channel)


@handles("fetchTurns")
async def fetch_turns(connection: Connection, params: Params) -> dict[str, Any]:
    """Send the next older turns as ``chat/turnsLoaded``, then answer."""
    core = connection.core
    channel = await core.directory.find(params["channel"])
    if channel is None or channel.kind != "chat":
        raise NotFound(f"there is no chat {params['channel']}")
    turns, most = channel.state["turns"], core.limits.max_turns_page
    if not translator(connection.version).pages_into_state:
        page = turns_page(turns, params, cap=most)
        down = translator(connection.version).turn_down
        return {**page, "turns": [down(turn) for turn in page["turns"]]}
    subscription = connection.subscriptions.get(channel)
    shown = end = subscription.first_turn if subscription is not None else 0
    if "cursor" in params:
        # One kept from an earlier window may lie on either side of this one.
        end = min(shown, position_of(turns, params["cursor"]))
    start = page_start(channel.turn_sizes(), end, most)
    if subscription is not None:
        # Up to what was shown, so that no turn in between is ever left out.
        _load(connection, channel, subscription, start, shown)
    return {}


def reveal(channel: Channel, turn_id: str) -> None:
    """Show a turn to every subscriber that was not shown it, before something names it."""
    turns = channel.state["turns"]
    position = next((i for i, turn in enumerate(turns) if turn["id"] == turn_id), None)
    if position is None:
        return
    for subscription in channel.subscriptions.values():
        if position < subscription.first_turn:
            _load(subscription.connection, channel, subscription, position, subscription.first_turn)


def _load(
    connection: Connection, channel: Channel, subscription: Subscription, start: int, end: int
) -> None:
    turns = channel.state["turns"]
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
