"""Channels of owners that are in no log, shown by this front: terminals, changesets and the like.

Each is followed once at the owner that has it, whoever follows it here. It ends when nobody does
any more. When its link breaks, what was missed cannot be made up for: those who follow it are asked
to reconnect, which shows it to them anew or tells that it is gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agenthost.cluster.front.owner_peer import LinkedClient, OwnerPeer, OwnerPeers
from agenthost.errors import AgentHostError, NotFound, SessionNotFound, WireError
from agenthost.host.channels.canvas.kind import CANVAS
from agenthost.host.channels.changeset.catalogue import changeset_owner, read_name
from agenthost.host.channels.changeset.kind import CHANGESET, changeset_extra
from agenthost.host.channels.otlp_kind import OTLP
from agenthost.host.channels.resource_watch.kind import RESOURCE_WATCH, WatchExtra
from agenthost.host.channels.session.content_owners import sessions_of
from agenthost.host.channels.terminal.kind import TERMINAL
from agenthost.host.remote_owner import CHANNEL_GONE
from agenthost.host.trust import Principal, Role
from agenthost.protocol.uris import canonical, canvas_uri, resource_watch_uri, terminal_uri
from agenthost.transport import CloseCode

if TYPE_CHECKING:
    from agenthost.cluster.front.client_links import FindOwner, Open
    from agenthost.cluster.front.pending import PendingActions
    from agenthost.host.core import HostCore
    from agenthost.host.log.channel import AnyChannel
    from agenthost.host.log.kind import AnyKind
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

# Seconds that a channel is kept which nobody follows any more, or not yet.
LINGER_SECONDS = 5.0
# Seconds in which its owner must show it.
SHOW_SECONDS = 15.0
# Channels that were made by this front's clients and are remembered for them.
MOST_MADE = 10_000
# Envelopes that may come before the state that they belong to was taken in.
MOST_EARLY = 10_000
_OTLP = "ahp-otlp:"
LOST = "the machine that shows this was lost; reconnect to resume"


@dataclass(frozen=True, slots=True)
class MadeChannel:
    """Where a channel was made, and for whom."""

    node: str
    maker: Principal


@dataclass(eq=False, slots=True)
class RelayedChannel:
    """One channel that is followed at its owner."""

    uri: str
    node: str
    peer: OwnerPeer
    # None until its state has come, and what came before it.
    channel: AnyChannel | None = None
    early: list[tuple[str, JsonObject]] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Relays:
    """All channels of owners that this front shows and no log tells of."""

    def __init__(
        self,
        own_node: str,
        pending: PendingActions,
        open: Open,
        find_owner: FindOwner,
        unit_of: Callable[[str], str | None],
        listed: Callable[[], Iterable[tuple[str, str]]],
        living: Callable[[], Iterable[str]],
    ) -> None:
        """``unit_of`` says whose a stored channel is; ``listed`` tells terminals with nodes.

        ``living`` names all nodes that can be asked.
        """
        self._own_node = own_node
        self._pending = pending
        self._open_link = open
        self._find_owner = find_owner
        self._unit_of = unit_of
        self._listed = listed
        self._living = living
        self._core: HostCore | None = None
        self._peers = OwnerPeers(self._link)
        self._relays: dict[str, RelayedChannel] = {}
        self._made: dict[str, MadeChannel] = {}

    @property
    def core(self) -> HostCore:
        """The parts of the front."""
        assert self._core is not None, "attach comes first"
        return self._core

    def __len__(self) -> int:
        return len(self._relays)

    def attach(self, core: HostCore) -> None:
        """Show such channels in a host from now on."""
        self._core = core
        core.directory.on_missing(self._open)
        core.directory.on_forgotten(self._forgotten)

    def made(self, uri: str, node: str, maker: Principal) -> None:
        """Remember where a client's request has made a channel."""
        self._made[canonical(uri)] = MadeChannel(node, maker)
        if len(self._made) > MOST_MADE:
            del self._made[next(iter(self._made))]

    def node_of(self, uri: str) -> str | None:
        """Return the node that has a channel which is shown here."""
        relay = self._relays.get(canonical(uri))
        return relay.node if relay is not None else None

    def deserted(self, channel: AnyChannel) -> None:
        """Take note that somebody does not follow a channel any more."""
        relay = self._relays.get(channel.uri)
        if relay is None or channel.subscriptions:
            return
        if channel.kind in (CHANGESET, RESOURCE_WATCH) and not channel.in_use:
            # Whoever comes next is shown the files as they are then; a watch ends with its last.
            self._drop(relay)
        else:
            self._linger(relay)

    def dropped(self, uri: str) -> None:
        """Take note that a channel is gone at its owner."""
        relay = self._relays.get(canonical(uri))
        if relay is not None:
            self._drop(relay)

    async def place(self, uri: str) -> str | None:
        """Return the node that has a channel, or None where it is nobody's."""
        made = self._made.get(uri)
        if made is not None:
            return made.node
        if uri.startswith(_OTLP):
            return self._own_node
        owner = changeset_owner(uri)
        if owner is not None:
            found = await self.core.directory.find(owner)
            return None if found is None else await self._find_owner(found.session or found.uri)
        for terminal, node in self._listed():
            if canonical(terminal) == uri:
                return node
        unit = self._unit_of(uri) if uri.startswith(canvas_uri("")) else None
        if uri.startswith(terminal_uri("")):
            # Part of an old result, which its session's owner opens again.
            blob = await self.core.store.blob(uri)
            if blob is None:
                return await self._asked_around(uri)
            unit = sessions_of(blob.owner)[0]
        return await self._find_owner(unit) if unit is not None else None

    async def _asked_around(self, uri: str) -> str | None:
        """Return the node that has a terminal which nobody tells of.

        Nodes list no logs of servers, and those whose terminal is new have not listed it yet.
        """

        async def ask(node: str) -> str:
            peer = await self._peers.get(node)
            # Whoever does not have it refuses.
            await peer.request("subscribe", {"channel": uri}, SHOW_SECONDS)
            return node

        asking = {asyncio.create_task(ask(node), name=f"ask {node}") for node in self._living()}
        try:
            while asking:
                done, asking = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
                has_it = [each.result() for each in done if each.exception() is None]
                if has_it:
                    return has_it[0]
        finally:
            for each in asking:
                each.cancel()
        return None

    async def _open(self, uri: str) -> AnyChannel | None:
        node = await _or_not_found(self.place(uri))
        if node is None:
            return None
        peer = await _or_not_found(self._peers.get(node))
        relay = self._relays[uri] = RelayedChannel(uri, node, peer)
        try:
            # Where nobody follows it for the client that wants it, its owner would let go of it.
            result = await _or_not_found(peer.request("subscribe", {"channel": uri}, SHOW_SECONDS))
            channel = await self._take_in(relay, result)
        except (NotFound, SessionNotFound) as error:
            log.debug("%s is not shown by %s: %s", uri, node, error)
            channel = None
        finally:
            if relay.channel is None and self._relays.get(uri) is relay:
                del self._relays[uri]
        if channel is not None:
            self._linger(relay)
        return channel

    async def _take_in(self, relay: RelayedChannel, result: JsonObject) -> AnyChannel | None:
        core, uri = self.core, relay.uri
        snapshot = result.get("snapshot")
        state: Any = snapshot["state"] if snapshot is not None else {}
        owner = changeset_owner(uri)
        session: str | None = None
        if owner is not None:
            found = await core.directory.find(owner)
            session = (found.session or found.uri) if found is not None else None
        if core.directory.get(uri) is not None or relay.peer.closed.done():
            return core.directory.get(uri)
        channel = core.directory.create(uri, _kind_of(uri), state, session)
        self._describe(channel)
        relay.channel = channel
        early, relay.early = relay.early, []
        for method, params in early:
            self._tell(relay, method, params)
        return channel if core.directory.has(channel) else None

    def _describe(self, channel: AnyChannel) -> None:
        """Fill in what is asked about a channel besides its state."""
        made = self._made.get(channel.uri)
        if isinstance(channel.extra, WatchExtra) and made is not None:
            channel.extra.maker = made.maker
        if channel.kind is CHANGESET:
            extra, name = changeset_extra(channel), read_name(channel.uri)
            extra.name = name
            extra.is_sessions = name is not None and name.owner == channel.session

    async def _link(self, node: str) -> OwnerPeer:
        # Of this node alone, and may look at everything: who may follow what is asked here.
        principal = Principal(f"@front {self._own_node}", Role.OWNER)
        transport = await self._open_link(node, principal, "relay")
        peer = OwnerPeer(transport, on_notification=self._notified, on_call=_refuse)
        peer.closed.add_done_callback(lambda _: self._lost(peer))
        await peer.open(LinkedClient(f"@front-{self._own_node}", {}))
        return peer

    def _notified(self, method: str, params: JsonObject) -> None:
        relay = self._relays.get(canonical(params["channel"]))
        if relay is None:
            return
        if relay.channel is not None:
            self._tell(relay, method, params)
        elif len(relay.early) < MOST_EARLY:
            relay.early.append((method, params))
        else:
            relay.peer.close("too much came at once")

    def _tell(self, relay: RelayedChannel, method: str, params: JsonObject) -> None:
        channel, writer = relay.channel, self.core.writer
        if channel is None:
            # Gone, by what came just before.
            return
        if method == CHANNEL_GONE:
            self._drop(relay)
        elif method != "action":
            writer.notify(channel, method, params)
        elif "rejectionReason" not in params:
            action = params["action"]
            dispatch = self._pending.take(params.get("origin"), channel.uri, action)
            writer.apply(channel, action, dispatch)

    def _lost(self, peer: OwnerPeer) -> None:
        for relay in [each for each in self._relays.values() if each.peer is peer]:
            channel = relay.channel
            followers = list(channel.subscriptions) if channel is not None else []
            self._drop(relay)
            for follower in followers:
                connection = self.core.clients.connection(follower.client_id)
                if connection is follower:
                    connection.end(CloseCode.TRY_AGAIN_LATER, LOST)

    def _linger(self, relay: RelayedChannel) -> None:
        if relay.timer is not None:
            relay.timer.cancel()
        loop = asyncio.get_running_loop()
        relay.timer = loop.call_later(LINGER_SECONDS, self._look, relay)

    def _look(self, relay: RelayedChannel) -> None:
        """End what nobody follows."""
        if relay.channel is not None and not relay.channel.in_use:
            self._drop(relay)
        else:
            self._linger(relay)

    def _drop(self, relay: RelayedChannel) -> None:
        if relay.timer is not None:
            relay.timer.cancel()
        if self._relays.get(relay.uri) is relay:
            del self._relays[relay.uri]
        if not relay.peer.closed.done():
            relay.peer.notify("unsubscribe", {"channel": relay.uri})
        channel, relay.channel = relay.channel, None
        if channel is not None and self.core.directory.has(channel):
            self.core.directory.drop(channel)

    def _forgotten(self, channel: AnyChannel) -> None:
        relay = self._relays.get(channel.uri)
        if relay is not None and relay.channel is channel:
            self._drop(relay)

    def close(self) -> None:
        """End all links."""
        for relay in list(self._relays.values()):
            if relay.timer is not None:
                relay.timer.cancel()
        self._relays.clear()
        self._peers.close()


async def _or_not_found(work: Awaitable[Any]) -> Any:
    """Have a missing machine told as something that is not there now."""
    try:
        return await work
    except WireError:
        raise
    except (AgentHostError, OSError, TimeoutError) as error:
        raise NotFound(f"the machine that has this is not reached: {error}") from error


async def _refuse(method: str, params: JsonObject) -> JsonObject:
    raise NotFound("this is no client")


def _kind_of(uri: str) -> AnyKind:
    if changeset_owner(uri) is not None:
        return CHANGESET
    for start, kind in _KINDS.items():
        if uri.startswith(start):
            return kind
    return TERMINAL


_KINDS: dict[str, AnyKind] = {
    _OTLP: OTLP,
    canvas_uri(""): CANVAS,
    resource_watch_uri(""): RESOURCE_WATCH,
}
