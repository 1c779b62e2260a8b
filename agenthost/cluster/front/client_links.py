"""One client's links to the owners of what it looks at and works on.

Owns the order: of one unit, what the client does and follows reaches its owner in the order in
which it did so, over however many links. What a broken link leaves unanswered is sent again to
whoever owns the unit by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from agenthost.cluster.front.owner_peer import LinkedClient, OwnerPeer, OwnerPeers
from agenthost.cluster.front.pending import PendingAction, PendingActions
from agenthost.errors import AgentHostError
from agenthost.host.clients.forwarded_actions import OWNED_ELSEWHERE
from agenthost.protocol.uris import ROOT
from agenthost.transport import CloseCode

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.trust import Principal
    from agenthost.protocol.common import JsonObject
    from agenthost.transport import Transport

log = logging.getLogger(__name__)

# Seconds between two tries to reach an owner.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 3.0
# Units of one client after which those are forgotten that it neither follows nor works on.
MANY_LANES = 256
# How a connection ends that another one of its client has replaced.
SUPERSEDED = "superseded"

Open = Callable[[str, "Principal", str], Awaitable["Transport"]]
# Returns the node that owns a unit now; raises AgentHostError where there is none.
FindOwner = Callable[[str], Awaitable[str]]


class ClientLinks:
    """The links of one connection of a client."""

    def __init__(
        self,
        connection: Connection,
        pending: PendingActions,
        open: Open,
        find_owner: FindOwner,
        forget: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._pending = pending
        self._open = open
        self.find_owner = find_owner
        # Has who owns a unit found out anew.
        self._forget = forget
        self.peers = OwnerPeers(self._opened)
        self._lanes: dict[str, UnitLane] = {}
        self.is_over = False

    def lane(self, unit: str) -> UnitLane:
        """Return what goes to the owner of a unit."""
        lane = self._lanes.get(unit)
        if lane is None:
            if len(self._lanes) >= MANY_LANES:
                self._lanes = {key: each for key, each in self._lanes.items() if not each.is_idle}
            lane = self._lanes[unit] = UnitLane(self, unit)
        return lane

    def moved(self, unit: str) -> None:
        """Send what is unanswered to a unit's new owner."""
        lane = self._lanes.get(unit)
        if lane is not None:
            lane.begin_again()

    async def settled(self) -> None:
        """Wait until every owner has dealt with what it was sent."""
        for lane in list(self._lanes.values()):
            await lane.flushed()
        # Owners take one after the other.
        pings = [peer.ask("ping", {"channel": ROOT}) for peer in self.peers]
        await asyncio.gather(*pings, return_exceptions=True)

    def follow_root(self, follows: bool) -> None:
        """Tell every owner that there is a link to whether the client follows the root channel.

        Each has one of its own, by which it tells single clients what concerns them.
        """
        for peer in self.peers:
            _follow(peer, ROOT, follows)

    async def _opened(self, node: str) -> OwnerPeer:
        connection = self._connection
        transport = await self._open(node, connection.principal, "client")
        peer: OwnerPeer | None = None

        def notified(method: str, params: JsonObject) -> None:
            assert peer is not None
            self._notified(peer, method, params)

        peer = OwnerPeer(transport, on_notification=notified, on_call=self._asked)
        peer.closed.add_done_callback(lambda reason: self._lost(node, reason.result()))
        client = LinkedClient(
            connection.client_id,
            connection.capabilities,
            connection.version,
            connection.locale,
            connection.program,
            connection.arrival,
        )
        root = connection.core.directory.root
        await peer.open(client, [ROOT] if root in connection.subscriptions else [])
        return peer

    async def _asked(self, method: str, params: JsonObject) -> JsonObject:
        return await self._connection.call(method, params)

    def _notified(self, peer: OwnerPeer, method: str, params: JsonObject) -> None:
        connection, writer = self._connection, self._connection.core.writer
        if method == "action":
            origin = params.get("origin")
            if origin is None or origin["clientId"] != connection.client_id:
                return
            entry = self._pending.asked_of(peer, origin, params["channel"])
            if entry is None:
                return
            reason = params.get("rejectionReason")
            if reason is not None and reason.endswith(OWNED_ELSEWHERE):
                self._send_elsewhere(entry)
                return
            self._pending.end(entry)
            if reason is None:
                writer.acknowledge(entry.dispatch)
            else:
                connection.core.metrics.count("agenthost_actions_rejected_total")
                writer.reject(entry.dispatch, reason)
            return
        channel = connection.core.directory.get(params["channel"])
        if channel is not None:
            writer.notify(channel, method, params, only=frozenset({connection}))

    def _send_elsewhere(self, entry: PendingAction) -> None:
        """Send an action to another owner, a moment later: the copy may not know it yet."""
        loop = asyncio.get_running_loop()
        for lane in self._lanes.values():
            if lane.has_sent(entry):
                self._forget(lane.unit)
                loop.call_later(FIRST_PAUSE, lane.begin_again)

    def _lost(self, node: str, reason: str) -> None:
        if self.is_over:
            return
        if SUPERSEDED in reason:
            # The client is connected elsewhere, too, and that is the one that it uses.
            reason = "superseded by a newer connection of this client"
            self._connection.end(CloseCode.POLICY_VIOLATION, reason)
            return
        log.info("%s: the link to %s broke: %s", self._connection.name, node, reason[:200])
        for lane in list(self._lanes.values()):
            if lane.is_broken:
                self._forget(lane.unit)
                lane.begin_again()

    def close(self) -> None:
        """End all links: the client has left."""
        self.is_over = True
        for lane in self._lanes.values():
            lane.close()
        self.peers.close()


class UnitLane:
    """What one client sends to the owner of one unit, in order."""

    def __init__(self, links: ClientLinks, unit: str) -> None:
        self._links = links
        self.unit = unit
        # What is followed, and what was sent and not answered, of the link used last.
        self._followed: dict[str, None] = {}
        self._peer: OwnerPeer | None = None
        self._sent: dict[PendingAction, None] = {}
        self._queue: deque[PendingAction | tuple[str, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._is_new = False
        self._flushed = asyncio.Event()
        self._flushed.set()

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is followed or under way."""
        return self._task is None and not self._has_something()

    def has_sent(self, entry: PendingAction) -> bool:
        """Say whether an action was sent and not answered here."""
        return entry in self._sent

    def dispatch(self, entry: PendingAction) -> None:
        """Send an action behind what was sent before."""
        self._put(entry)

    def follow(self, uri: str, follows: bool) -> None:
        """Tell the owner that the client follows a channel of the unit, or no longer."""
        if follows == (uri in self._followed):
            return
        if follows:
            self._followed[uri] = None
        else:
            self._followed.pop(uri)
        if follows or self._peer is not None or self._task is not None:
            self._put((uri, follows))

    async def flushed(self) -> None:
        """Wait until everything was sent."""
        await self._flushed.wait()

    async def peer(self) -> OwnerPeer:
        """Return the link to the owner, once everything before was sent over it."""
        await self.flushed()
        return await self._links.peers.get(await self._links.find_owner(self.unit))

    def begin_again(self) -> None:
        """Send what is unanswered and followed to whoever owns the unit now."""
        self._is_new = True
        if self._followed or self._queue or any(not each.is_over for each in self._sent):
            self._start()

    @property
    def is_broken(self) -> bool:
        """Whether the link is broken that was used last."""
        return self._peer is not None and self._peer.closed.done()

    def close(self) -> None:
        """Send nothing more."""
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()
        self._flushed.set()

    def _put(self, item: PendingAction | tuple[str, bool]) -> None:
        peer = self._peer
        is_ready = peer is not None and self._task is None and not self._is_new
        if is_ready and peer is not None and not peer.closed.done():
            self._send(peer, item)
        else:
            self._queue.append(item)
            self._start()

    def _start(self) -> None:
        if self._task is None and not self._links.is_over:
            self._flushed.clear()
            self._task = asyncio.create_task(self._run(), name=f"to the owner of {self.unit}")

    async def _run(self) -> None:
        try:
            await self._send_until_done()
        except Exception:
            log.exception("nothing is sent for %s", self.unit)
        finally:
            # At once: what comes next starts anew.
            self._task = None
            self._flushed.set()

    async def _send_until_done(self) -> None:
        pause = FIRST_PAUSE
        while self._is_new or self._queue:
            if not self._has_something():
                # What there was, time has ended.
                self._queue.clear()
                break
            try:
                peer = await self._links.peers.get(await self._links.find_owner(self.unit))
                self._send_all(peer)
            except (AgentHostError, OSError, TimeoutError) as error:
                log.debug("the owner of %s is not reached: %s", self.unit, error)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                self._peer, self._is_new = None, True

    def _has_something(self) -> bool:
        waiting = (*self._queue, *self._sent)
        return bool(self._followed) or any(
            not each.is_over for each in waiting if isinstance(each, PendingAction)
        )

    def _send_all(self, peer: OwnerPeer) -> None:
        if peer is not self._peer or self._is_new:
            for uri in self._followed:
                _follow(peer, uri, follows=True)
            # What was told of followed channels is in there already.
            unsent = [each for each in self._queue if isinstance(each, PendingAction)]
            self._queue.clear()
            self._queue.extend((*self._sent, *unsent))
            self._sent.clear()
            self._peer, self._is_new = peer, False
        while self._queue:
            # Taken off once it is sent: a link that breaks just now must not lose it.
            self._send(peer, self._queue[0])
            self._queue.popleft()

    def _send(self, peer: OwnerPeer, item: PendingAction | tuple[str, bool]) -> None:
        if not isinstance(item, PendingAction):
            _follow(peer, *item)
            return
        if item.is_over:
            return
        if len(self._sent) > 64:
            self._sent = {each: None for each in self._sent if not each.is_over}
        again = item.is_again or item.sent_by is not None
        params: JsonObject = {
            "channel": item.channel,
            "clientSeq": item.dispatch.client_seq,
            "action": item.action,
            "_passedOn": {"id": item.id, "again": again},
        }
        item.sent_by, item.is_again = peer, again
        self._sent[item] = None
        peer.notify("dispatchAction", params)


def _follow(peer: OwnerPeer, uri: str, follows: bool) -> None:
    if follows:
        peer.ask("subscribe", {"channel": uri})
    else:
        peer.notify("unsubscribe", {"channel": uri})
