"""Snapshots as they travel: a channel's state with the number after which its actions count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.host.channels.chat.fork import title_of
from agenthost.host.channels.chat.window import first_shown
from agenthost.host.log.channel import LiveChannel, Subscription
from agenthost.protocol.jsonrpc import dumps

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore


def follow(
    connection: Connection,
    channel: LiveChannel,
    uri: str,
    *,
    newest_turns: int | None = None,
    max_latency: float | None = None,
) -> Subscription:
    """Subscribe a connection from this very moment on; the snapshot must be taken in the same."""
    shown = first_shown(channel.state["turns"], newest_turns) if channel.kind == "chat" else 0
    subscription = Subscription(
        connection,
        uri,
        connection.core.writer.ledger.last_seq,
        first_turn=shown,
        max_latency=max_latency,
    )
    connection.subscribe(channel, subscription)
    return subscription


def snapshot(
    connection: Connection, channel: LiveChannel, subscription: Subscription
) -> Sequence[bytes]:
    """Encode the snapshot that a subscription starts from, as pieces of JSON."""
    return (
        b'{"resource":',
        dumps(subscription.uri),
        b',"state":',
        *channel.snapshot_json(
            connection.version,
            first_turn=subscription.first_turn,
            told_elsewhere=_told_elsewhere(connection.core, channel),
        ),
        b',"fromSeq":%d}' % subscription.from_seq,
    )


def _told_elsewhere(core: HostCore, channel: LiveChannel) -> Mapping[str, Any]:
    """Return what no action tells a channel: who comes new hears it here, as its line says it."""
    if channel.kind == "session":
        return {"annotations": core.catalogue.annotations(channel)}
    session = core.directory.get(channel.session or "")
    if channel.kind == "chat" and session is not None:
        return {"title": title_of(channel, session)}
    return {}


def listed(snapshots: Iterable[Sequence[bytes]]) -> Iterator[bytes]:
    """Chain the JSON pieces of several snapshots into those of a list's items."""
    for number, pieces in enumerate(snapshots):
        if number:
            yield b","
        yield from pieces
