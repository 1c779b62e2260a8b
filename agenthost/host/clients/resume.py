"""Bringing a client that was away up to date: the log after what it saw, or fresh snapshots."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from operator import ge, itemgetter
from typing import TYPE_CHECKING

from agenthost.host.clients.client_records import EVERYTHING, View
from agenthost.host.clients.subscriptions import joined, snapshot, subscribe_from_now
from agenthost.host.delivery.envelopes import numbered
from agenthost.host.log.channel import AnyChannel, LiveChannel, Subscription
from agenthost.host.log.kind import Resumed
from agenthost.host.log.replay import ReplayLog, SendSnapshots, plan_reconnect
from agenthost.host.log.stored_values import stored_value
from agenthost.host.store import Append, StoreDamaged, StoredChannel
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.versions import translator

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.core import HostCore
    from agenthost.protocol.common import Action

log = logging.getLogger(__name__)

# Beyond this many actions a snapshot is the shorter way.
MOST_REPLAYED = 20_000
# Log entries translated in a row; each takes some ten microseconds, and others want their turn.
WALKED_AT_ONCE = 200
# The same where nothing needs to be translated.
ENCODED_AT_ONCE = 2_000


async def catch_up(
    connection: Connection, channels: Mapping[str, AnyChannel], missing: list[str], last_seen: int
) -> Sequence[bytes]:
    """Subscribe the connection to the channels and return the JSON of the reconnect result."""
    core = connection.core
    ledger = core.writer.ledger
    record = core.clients.recall(connection.client_id)
    # As they were before this connection follows anything.
    views = dict(record.views) if record is not None else {}
    lost = [uri for uri, channel in channels.items() if channel.kind.resumed is Resumed.MISSING]
    missing += lost
    channels = {uri: channel for uri, channel in channels.items() if uri not in lost}
    uris = {channel.uri: uri for uri, channel in channels.items()}
    # What was created a moment ago is not in the store yet, and so has no position there.
    await ledger.settle()
    no_replay = any(_needs_snapshot(channel, last_seen) for channel in channels.values())
    if not no_replay and isinstance(await _plan(core, uris, last_seen), ReplayLog):
        # Some may have been disposed meanwhile.
        missing += [uri for uri, channel in channels.items() if not core.directory.has(channel)]
        channels = {
            uri: channel for uri, channel in channels.items() if core.directory.has(channel)
        }
        # From here on live envelopes queue up behind the answer.
        connection.outbox.hold()
        for uri, channel in channels.items():
            _resume(connection, channel, uri, views.get(channel.uri, EVERYTHING))
        through = ledger.last_seq
        await ledger.settle()
        try:
            actions = await _replay(connection, uris, last_seen, through)
        except StoreDamaged as error:
            # What is in memory is sound, and a snapshot of it needs no log.
            log.error("%s gets snapshots and no replay: %s", connection.name, error)
            actions = None
        if actions is not None:
            replayed = b'{"type":"replay","actions":[', b",".join(actions), b'],"missing":'
            return (*replayed, dumps(missing), b"}")
        connection.outbox.drop_held()
    snapshots = []
    for uri, channel in channels.items():
        if core.directory.has(channel):
            view = views.get(channel.uri, EVERYTHING)
            subscription = _resume(connection, channel, uri, _still_shown(core, channel, view))
            snapshots.append(snapshot(connection, channel, subscription))
    for channel, subscription in connection.subscriptions.items():
        if subscription.view != views.get(channel.uri, EVERYTHING):
            core.clients.note_view(connection.client_id, channel.uri, subscription.view)
    return (b'{"type":"snapshot","snapshots":[', *joined(snapshots), b"]}")


def _needs_snapshot(channel: AnyChannel, last_seen: int) -> bool:
    """Say whether there is no use in looking at the log."""
    return channel.kind.resumed is Resumed.SNAPSHOT or last_seen <= channel.replay_too_long_below


def _resume(connection: Connection, channel: AnyChannel, uri: str, view: View) -> Subscription:
    """Follow a channel as the client saw it before."""
    window, latency = view
    subscription = subscribe_from_now(connection, channel, uri, max_latency=latency)
    subscription.window = channel.kind.clamp(window, channel.state)
    return subscription


def _still_shown(core: HostCore, channel: AnyChannel, view: View) -> View:
    """Return a view that shows something of a channel which was cut below what it showed."""
    window, latency = view
    return channel.kind.window_resumed(channel, window, core.limits.max_turns_page), latency


async def _plan(
    core: HostCore, channels: Iterable[str], last_seen: int
) -> ReplayLog | SendSnapshots:
    trimmed = await core.store.channel_positions(list(channels))
    last_seq = core.writer.ledger.last_seq
    return plan_reconnect(last_seen, last_seq=last_seq, gaps=core.store.gaps, trimmed=trimmed)


async def _replay(
    connection: Connection, uris: Mapping[str, str], last_seen: int, through: int
) -> list[bytes] | None:
    """Return the envelopes after ``last_seen``, or None when snapshots are the better answer."""
    core = connection.core
    entries = await core.store.read_after(last_seen, list(uris), MOST_REPLAYED + 1)
    if isinstance(await _plan(core, uris, last_seen), SendSnapshots):
        # The log was trimmed while it was read.
        return None
    entries = [entry for entry in entries if entry.seq <= through]
    windows = {c.uri: _cuts(c) for c, view in connection.subscriptions.items() if view.window}
    if any(cut in entry.action for entry in entries for cut in windows.get(entry.channel, ())):
        # It may name something that this client was never shown.
        return None
    sizes = Counter[str]()
    for entry in entries:
        sizes[entry.channel] += len(entry.action)
    if len(entries) > MOST_REPLAYED or sizes.total() > core.limits.max_replay_bytes:
        for uri, size in sizes.items():
            channel = core.directory.get(uri)
            if channel is not None and size > core.limits.max_replay_bytes:
                # The next one need not read it all to find out.
                channel.replay_too_long_below = max(channel.replay_too_long_below, last_seen)
        return None
    if translator(connection.version).is_identity:
        envelopes: list[bytes] = []
        for start in range(0, len(entries), ENCODED_AT_ONCE):
            part = entries[start : start + ENCODED_AT_ONCE]
            envelopes += [_encode(entry, uris[entry.channel], entry.action) for entry in part]
            await asyncio.sleep(0)
        return envelopes
    return await _translated(connection, uris, entries, last_seen)


async def _translated(
    connection: Connection, uris: Mapping[str, str], entries: Sequence[Append], last_seen: int
) -> list[bytes] | None:
    """Translate log entries for an older version, which takes the states around each of them."""
    core = connection.core
    ends = {entry.channel: entry.seq for entry in entries}
    translated: list[tuple[int, bytes]] = []
    for uri, end in ends.items():
        channel = core.directory.get(uri)
        if channel is None or channel.tail_bytes > core.limits.max_replay_bytes:
            return None
        stored = await core.store.load_channel(uri, last_seen)
        if stored is None or _size(stored.tail) > core.limits.max_replay_bytes:
            # The state that the client left off at cannot be rebuilt any more, or not cheaply.
            return None
        gap = (last_seen, end)
        most = core.writer.ledger.most_actions
        async for entry, actions in _walk(connection.version, channel, stored, gap):
            if most is not None and len(actions) > most:
                return None
            for action, seq, is_last in numbered(actions, entry.seq):
                # Of several actions the client may have seen the first ones.
                if seq > last_seen:
                    origin = entry.origin if is_last else None
                    told = Append(seq, uri, entry.now, dumps(action), origin)
                    translated.append((seq, _encode(told, uris[uri], told.action)))
    translated.sort(key=itemgetter(0))
    numbers = [seq for seq, _ in translated]
    if any(map(ge, numbers, numbers[1:])):
        # Logged by a host that took fewer numbers than this one needs.
        return None
    return [envelope for _, envelope in translated]


async def _walk(
    version: str, live: AnyChannel, stored: StoredChannel, gap: tuple[int, int]
) -> AsyncIterator[tuple[Append, list[Action]]]:
    """Go through a channel's log, giving the entries of a gap as an older version has them."""
    last_seen, end = gap
    channel = LiveChannel(live.uri, live.kind, stored_value(stored.state, live.uri))
    ladder = translator(version)
    reviewable = live.kind.is_reviewable(live)
    for number, entry in enumerate(stored.tail, 1):
        if number % WALKED_AT_ONCE == 0:
            await asyncio.sleep(0)
        if entry.seq > end:
            return
        action = stored_value(entry.action, live.uri)
        change = channel.apply(action, entry.now)
        if change is None or entry.seq <= last_seen:
            continue
        if change.states is None:
            yield entry, [action]
            continue
        before, after = change.states
        told = ladder.action_down(live.kind.name, before, action, after, reviewable=reviewable)
        yield entry, told


def _cuts(channel: AnyChannel) -> list[bytes]:
    """Return what the log has of actions that cut the channel's windows."""
    return [dumps(action_type) for action_type in channel.kind.cuts]


def _size(entries: Sequence[Append]) -> int:
    return sum(len(entry.action) for entry in entries)


def _encode(entry: Append, uri: str, action: bytes) -> bytes:
    origin = b',"origin":' + entry.origin if entry.origin is not None else b""
    return b'{"channel":%b,"action":%b,"serverSeq":%d%b}' % (dumps(uri), action, entry.seq, origin)
