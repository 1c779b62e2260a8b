"""Following channels: ``subscribe``, ``unsubscribe``, and ``fetchTurns`` for long chats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agenthost.errors import NotFound, PermissionDenied, SessionNotFound
from agenthost.host.channels.chat.loading import load_turns
from agenthost.host.channels.chat.window import page_start, position_of
from agenthost.host.clients.client_records import EVERYTHING
from agenthost.host.clients.methods import EncodedResult, handles
from agenthost.host.clients.snapshots import follow, snapshot
from agenthost.protocol.uris import annotations_uri, session_uri
from agenthost.protocol.versions import translator, turns_page

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection

Params = dict[str, Any]


@handles("subscribe")
async def subscribe(connection: Connection, params: Params) -> EncodedResult:
    """Answer with a snapshot, and send every later action of the channel."""
    uri = params["channel"]
    channel = await connection.core.directory.find(uri)
    if channel is None:
        raise _missing(uri)
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
    return EncodedResult(b'{"snapshot":', *snapshot(connection, channel, subscription), b"}")


def _missing(uri: str) -> NotFound | SessionNotFound:
    """Say what is not there; only a URI in the usual spelling tells that it was to be a session."""
    if uri.startswith(session_uri("")) and not uri.endswith(annotations_uri("")):
        return SessionNotFound(f"there is no session {uri}")
    return NotFound(f"there is no channel {uri}")


# Seconds: a client that asks for more gathering than this would look dead.
MOST_LATENCY = 5.0


@handles("unsubscribe")
async def unsubscribe(connection: Connection, params: Params) -> None:
    """Stop sending a channel's actions; an active client that leaves its session leaves it."""
    core = connection.core
    channel = core.directory.get(params["channel"]) or connection.followed_as(params["channel"])
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
        load_turns(channel, subscription, start, shown)
    return {}
