"""Following channels: ``subscribe``, ``unsubscribe``, and the snapshots that it starts from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from agenthost.errors import NotFound, PermissionDenied, SessionNotFound
from agenthost.host.clients.client_records import EVERYTHING
from agenthost.host.clients.methods import EncodedResult, handles
from agenthost.host.log.channel import AnyChannel, Subscription
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.uris import annotations_uri, session_uri

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.protocol.commands import SubscribeView
    from agenthost.protocol.common import JsonObject

# Seconds: a client that asks for more gathering than this would look dead.
MOST_LATENCY = 5.0
# The view of a client that wants to see everything.
NOTHING_ASKED: SubscribeView = {}


@handles("subscribe")
async def subscribe(connection: Connection, params: JsonObject) -> EncodedResult:
    """Answer with a snapshot, and send every later action of the channel."""
    uri = params["channel"]
    channel = await connection.find(uri)
    if channel is None:
        raise missing_channel(connection.core, uri)
    limit = connection.core.limits.max_subscriptions
    is_full = channel not in connection.subscriptions and len(connection.subscriptions) >= limit
    # A front has counted for each of its clients, and follows for all of them.
    if is_full and not connection.hears_logs_elsewhere:
        raise PermissionDenied(f"a connection may follow {limit} channels at once")
    latency = params.get("delivery", {}).get("maxLatencyMs")
    subscription = subscribe_from_now(
        connection,
        channel,
        uri,
        view=params.get("view", NOTHING_ASKED),
        max_latency=min(latency / 1000, MOST_LATENCY) if latency else None,
    )
    connection.core.clients.note_view(connection.client_id, channel.uri, subscription.view)
    if not channel.kind.has_state or subscription.is_quiet:
        return EncodedResult(b"{}")
    return EncodedResult(b'{"snapshot":', *snapshot(connection, channel, subscription), b"}")


def missing_channel(core: HostCore, uri: str) -> NotFound | SessionNotFound:
    """Say what is not there; only a URI in the usual spelling tells that it was to be a session.

    What is not there of a session that is, is something else.
    """
    owner, changeset, _ = uri.partition("/changeset/")
    if changeset and core.directory.get(owner) is not None:
        return NotFound(f"there is no changeset {uri}")
    if uri.startswith(session_uri("")) and not uri.endswith(annotations_uri("")):
        return SessionNotFound(f"there is no session {uri}")
    return NotFound(f"there is no channel {uri}")


@handles("unsubscribe")
async def unsubscribe(connection: Connection, params: JsonObject) -> None:
    """Stop sending a channel's actions; an active client that leaves its session leaves it."""
    core = connection.core
    channel = core.directory.get(params["channel"]) or connection.followed_as(params["channel"])
    if channel is None or not connection.unsubscribe(channel):
        return
    core.clients.note_view(connection.client_id, channel.uri, EVERYTHING)
    unfollow(core, channel, connection.client_id)


def subscribe_from_now(
    connection: Connection,
    channel: AnyChannel,
    uri: str,
    *,
    view: SubscribeView = NOTHING_ASKED,
    max_latency: float | None = None,
) -> Subscription:
    """Subscribe a connection from this very moment on; the snapshot must be taken in the same."""
    subscription = Subscription(
        connection,
        uri,
        connection.core.writer.ledger.last_seq,
        window=channel.kind.window(channel.state, view),
        max_latency=max_latency,
    )
    connection.subscribe(channel, subscription)
    return subscription


def snapshot(
    connection: Connection, channel: AnyChannel, subscription: Subscription
) -> Sequence[bytes]:
    """Encode the snapshot that a subscription starts from, as pieces of JSON."""
    owner = connection.core.directory.owner(channel)
    return (
        b'{"resource":',
        dumps(subscription.uri),
        b',"state":',
        *channel.snapshot_json(connection.version, window=subscription.window, owner=owner),
        b',"fromSeq":%d}' % subscription.from_seq,
    )


def joined(snapshots: Iterable[Sequence[bytes]]) -> Iterator[bytes]:
    """Join snapshots into the items of a JSON array."""
    for number, pieces in enumerate(snapshots):
        if number:
            yield b","
        yield from pieces


def unfollow(core: HostCore, channel: AnyChannel, client_id: str) -> None:
    """Do what must be done because a client does not follow a channel any more."""
    for effect in channel.kind.unfollowed(channel, client_id):
        core.effects.carry_out(effect)
