"""One client's connection: its messages in order, what it subscribes to, what waits for it.

Owns the life of a connection from its first frame to its last. What a method does is
its handler's affair; how answers are ordered against everything else is the ledger's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from agenthost.errors import NotFound, ParseError, UnsupportedProtocolVersion
from agenthost.host.clients.client_records import ClientRecord
from agenthost.host.clients.concurrent_requests import BesideTasks, lane_of, waiting_for_a_client
from agenthost.host.clients.methods import handle_notification, handle_request
from agenthost.host.clients.resent_actions import ResentActions
from agenthost.host.core import HostCore
from agenthost.host.delivery.outbox import Answer, Outbox
from agenthost.host.log.channel import AnyChannel, Subscription
from agenthost.host.store import StoreError
from agenthost.host.trust import Principal, RateLimiter, find_excess
from agenthost.host.trust.principals import Starter
from agenthost.protocol.inbound import accept_answer
from agenthost.protocol.jsonrpc import Failure, Notification, Request, encode
from agenthost.protocol.methods import METHODS, Beside
from agenthost.protocol.peer import (
    CallAnswered,
    CallRefused,
    Frame,
    HandshakeState,
    Peer,
    Violation,
    is_side_channel,
)
from agenthost.protocol.uris import ROOT
from agenthost.protocol.versions import NEWEST, translator
from agenthost.transport import CloseCode, Encoded, Transport, TransportClosed

if TYPE_CHECKING:
    from agenthost.protocol.commands import ClientCapabilities
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

# A peer that breaks the rules this often, without a sound message in between, is not going to stop.
MOST_VIOLATIONS = 10_000
# Programs without controls for a result that waits for approval: a turn would hang there.
SHOWS_NO_REVIEWS = ("vscode-",)
# Seconds that requests get to be answered to a client which ended its own side only.
LAST_ANSWERS_SECONDS = 30.0
# What those are told who ask a client for something.
LEFT = "the client has left"
# Seconds that a ping waits for what its client is being told of the time when it was away.
NEWS_SECONDS = 5.0
# A larger frame is looked over in a thread: others do not wait for it.
LARGE_FRAME = 128 * 1024


class Connection:
    """One live connection of one client."""

    def __init__(
        self,
        core: HostCore,
        transport: Transport,
        principal: Principal,
        name: str,
        on_established: Callable[[], None] | None = None,
        *,
        hears_logs_elsewhere: bool = False,
    ) -> None:
        self.core = core
        # Told once the client has been taken up.
        self._on_established = on_established
        # Whether the other side reads logged channels from the log itself.
        self.hears_logs_elsewhere = hears_logs_elsewhere
        self.principal = principal
        # How logs call it: a number, never an address with secrets.
        self.name = name
        # Of two connections of one client the one accepted later counts.
        self.accepted_at = core.clock.monotonic()
        # How often the client had come, to any node, when it came over this connection. Where
        # others speak for clients this comes first: one it has left may reach us after the next.
        self.arrival = 0
        self.peer = Peer("host")
        # The rung it speaks; set by the handshake.
        self.version = NEWEST
        # The one that the client itself speaks, where somebody else speaks for it.
        self.spoken = NEWEST
        self.client_id = ""
        self.capabilities: ClientCapabilities = {}
        self.locale: str | None = None
        # The name of the client's program.
        self.program = ""
        # Whether somebody looks at its window, as far as it says so.
        self.is_visible = False
        self.subscriptions: dict[AnyChannel, Subscription] = {}
        # What this client may send a second time, where there is anything; and whether it has
        # resumed a connection before this one, and may repeat itself.
        self.resent: ResentActions | None = None
        self.is_returned = False
        # Tells it what has changed in the list of sessions since it left; set when it reconnects.
        self.news: asyncio.Task[None] | None = None
        # The closing of the transport, once the host ends this connection.
        self._ending: asyncio.Task[None] | None = None
        self._transport = transport
        self._violations = 0
        limits = core.limits
        self._beside = BesideTasks(name, limits.max_beside, self._has_left)
        # What this client was asked -> who waits for the answer.
        self._asked: dict[int, asyncio.Future[Any]] = {}
        # Set when no message of the client's can come any more.
        self._gone = False
        self._rate = RateLimiter(
            limits.messages_per_second, limits.message_burst, core.clock.monotonic()
        )
        self.outbox = Outbox(
            transport,
            limit=limits.max_outbox_bytes,
            on_overflow=self._too_slow,
            on_stall=self._stalled,
            observe=self._log_out if core.wire_log is not None else None,
            share=core.budget.share(principal.name),
        )

    @property
    def starter(self) -> Starter:
        """On whose behalf turns run that this client starts."""
        return Starter(
            self.principal.name,
            self.locale,
            self.client_id,
            knows_commands=_is_told_prefix(self.spoken),
        )

    async def run(self) -> None:
        """Serve the client until it or the host ends the connection."""
        try:
            async with asyncio.timeout(self.core.limits.handshake_seconds) as handshake:
                while True:
                    await self._take(await self._transport.receive())
                    # Others have their turn between two messages of one client, and who does
                    # not take its answers is not given more of them.
                    await asyncio.sleep(0)
                    await self.outbox.room()
                    if self.peer.handshake is HandshakeState.ESTABLISHED:
                        handshake.reschedule(None)
        except TransportClosed as closed:
            log.debug("%s closed: %s", self.name, closed)
            self._give_up_asking()
            if not self._transport.closed:
                await self._answer_the_rest()
        except TimeoutError:
            self.end(CloseCode.POLICY_VIOLATION, "no initialize came in time")
        finally:
            self._leave()
            await self._beside.close()
            if self._ending is not None:
                await asyncio.shield(self._ending)

    def establish(self, record: ClientRecord) -> None:
        """Take up the client's identity and version, superseding an older connection of its."""
        self.client_id = record.client_id
        self.version = self.spoken = record.version
        self.capabilities = record.capabilities
        self.locale = record.locale
        self.program = record.program
        self.arrival = record.arrivals
        if self._on_established is not None:
            self._on_established()
        self.core.active_clients.arrived(self.client_id)
        superseded = self.core.clients.arrived(self)
        if superseded is not None:
            reason = "superseded by a newer connection of this client"
            superseded.end(CloseCode.POLICY_VIOLATION, reason)

    async def told_news(self) -> None:
        """Wait, for seconds at most, until a client that was away has been told what it missed."""
        if self.news is not None:
            await asyncio.wait({self.news}, timeout=NEWS_SECONDS)

    async def find(self, uri: str) -> AnyChannel | None:
        """Return a channel, if it is of a kind that this client's version has and may know of."""
        channel = await self.core.directory.find(uri)
        if channel is None and self.core.remote_owner is not None:
            # Another node may have made it a moment ago.
            await self.core.writer.ledger.reach()
            channel = await self.core.directory.find(uri)
        return channel if channel is not None and self.may_follow(channel, self.version) else None

    def may_follow(self, channel: AnyChannel, version: str) -> bool:
        """Say whether this client may know of a channel, in the version that it speaks."""
        if not translator(version).has_kind(channel.kind.name):
            return False
        return channel.kind.may_follow(channel, self.principal)

    def subscribe(self, channel: AnyChannel, subscription: Subscription) -> None:
        """Follow a channel from now on; a second time replaces the first."""
        is_first = not channel.subscriptions
        subscription.is_quiet = self.hears_logs_elsewhere and channel.is_logged
        channel.subscriptions[self] = subscription
        self.subscriptions[channel] = subscription
        effects = [*channel.kind.followed(channel)] if is_first else []
        for effect in (*effects, *channel.kind.came(channel, self)):
            self.core.effects.carry_out(effect)
        if self.core.remote_owner is not None:
            self.core.remote_owner.followed(self, channel)

    def followed_as(self, uri: str) -> AnyChannel | None:
        """Return the channel that this client follows under a name."""
        followed = (channel for channel, view in self.subscriptions.items() if view.uri == uri)
        return next(followed, None)

    def unsubscribe(self, channel: AnyChannel) -> bool:
        """Stop following a channel; False when it was not followed."""
        core = self.core
        channel.subscriptions.pop(self, None)
        channel.last_used = core.clock.monotonic()
        followed = self.subscriptions.pop(channel, None) is not None
        if followed and not channel.subscriptions and core.directory.has(channel):
            for effect in channel.kind.deserted(channel):
                core.effects.carry_out(effect)
        if followed and core.remote_owner is not None:
            core.remote_owner.unfollowed(self, channel)
        return followed

    @property
    def can_show_reviews(self) -> bool:
        """Whether this client's program asks people to approve of a tool call's result."""
        return not self.program.startswith(SHOWS_NO_REVIEWS)

    def send(self, *payloads: Frame) -> None:
        """Send encoded messages to this client alone, in order with everything else."""
        if payloads:
            self.core.writer.send(self, self._expected(payloads))

    async def call(
        self, method: str, params: JsonObject, timeout: float | None = None
    ) -> JsonObject:
        """Ask the client for something, and return its answer: canonical and validated.

        Raises NotFound where none comes or it is none, and what the client says where it refuses.
        Not for handlers that the reading of this connection waits for.
        """
        limits, rung = self.core.limits, translator(self.version)
        if self.peer.handshake is not HandshakeState.ESTABLISHED or self._has_left():
            raise NotFound(LEFT)
        if not rung.has_method(method):
            raise NotFound(f"the client does not know {method}")
        if self.peer.pending_calls >= limits.max_reverse_calls:
            raise NotFound("the client leaves too many requests unanswered")
        id = self.peer.call(method, rung.params_down(method, {"channel": ROOT, **params}))
        self.send(*self.peer.take_output())
        answer = self._asked[id] = asyncio.get_running_loop().create_future()
        seconds = limits.reverse_call_seconds if timeout is None else timeout
        try:
            with waiting_for_a_client():
                async with asyncio.timeout(seconds):
                    result = await answer
        except TimeoutError:
            raise NotFound("the client did not answer in time") from None
        finally:
            self._asked.pop(id, None)
        accepted: JsonObject = accept_answer(self.version, method, params, result)
        return accepted

    def _answered(self, event: CallAnswered | CallRefused) -> None:
        waiter = self._asked.pop(event.id, None)
        if waiter is None or waiter.done():
            log.debug("%s answered %s, which nobody awaits", self.name, event.method)
        elif isinstance(event, CallAnswered):
            waiter.set_result(event.result)
        else:
            waiter.set_exception(event.error)

    def _give_up_asking(self) -> None:
        """Tell all who wait for an answer of the client's that none comes any more."""
        self._gone = True
        for waiter in self._asked.values():
            if not waiter.done():
                waiter.set_exception(NotFound(LEFT))
        self._asked.clear()

    def _has_left(self) -> bool:
        return self._gone or self._transport.closed

    def end(self, code: int, reason: str) -> asyncio.Task[None]:
        """End the connection behind all that waits for the client, telling it why."""
        if self._ending is None:
            self.outbox.finish()
            self._ending = asyncio.create_task(
                self._transport.close(code, reason), name=f"close {self.name}"
            )
        return self._ending

    async def _take(self, frame: bytes) -> None:
        core = self.core
        pause = self._rate.take(core.clock.monotonic())
        if pause:
            # Not reading slows a hasty client down by its own socket, and loses nothing.
            await asyncio.sleep(pause)
            self._rate.take(core.clock.monotonic())
        await core.fair_queue.turn(self.principal.name)
        core.metrics.count("agenthost_messages_received_total")
        if core.wire_log is not None:
            core.wire_log.record("in", self.name, frame)
        excess = await self._find_excess(frame)
        if excess is not None:
            error = ParseError(f"a message may {excess}")
            self.send(encode(Failure(None, error)))
            self._violated(error.message)
            return
        self.peer.feed(frame)
        while (event := self.peer.next_event()) is not None:
            match event:
                case Request():
                    self._violations = 0
                    await self._carry_out(event)
                case Notification():
                    self._violations = 0
                    await handle_notification(self, event)
                case Violation(reason):
                    self._violated(reason)
                case CallAnswered() | CallRefused():
                    self._answered(event)
            self._answer(self.peer.take_output())
        self._answer(self.peer.take_output())

    async def _find_excess(self, frame: bytes) -> str | None:
        limits = self.core.limits
        check = partial(find_excess, frame, depth=limits.max_depth, values=limits.max_values)
        if len(frame) <= LARGE_FRAME:
            return check()
        # One at a time: it takes several times their size.
        async with self.core.large_frames:
            return await asyncio.to_thread(check)

    async def _carry_out(self, request: Request) -> None:
        lane = lane_of(request)
        if lane is Beside.NO:
            return await self._handle(request)
        await self._beside.start(lane, partial(self._handle_beside, request))

    async def _handle_beside(self, request: Request) -> None:
        await self._handle(request)
        # Behind what is held back for an answer to something else.
        self.send(*self.peer.take_output())

    async def _handle(self, request: Request) -> None:
        if not _may_be_large(request):
            return await handle_request(self, request)
        async with self.core.budget.share(self.principal.name).turn():
            await handle_request(self, request)
            self._answer(self.peer.take_output())

    def _answer(self, payloads: Sequence[Frame]) -> None:
        """Send what the client asked for; all that was held back for it follows."""
        if not self.outbox.held:
            self.send(*payloads)
        elif payloads:
            messages = self._expected(payloads)
            self.core.writer.ledger.deliver(lambda: self.outbox.resume(messages))

    def _expected(self, payloads: Sequence[Frame]) -> Sequence[Answer]:
        messages = tuple(map(Answer, payloads))
        self.outbox.expect(messages)
        return messages

    async def _answer_the_rest(self) -> None:
        """Send what is owed to a peer that has ended its own side only, as pipes allow."""
        await self._beside.finish(LAST_ANSWERS_SECONDS)
        with contextlib.suppress(StoreError):
            # What has not been stored was never said; the host says so by itself.
            await self.core.writer.ledger.settle()
            self.outbox.finish()

    def _violated(self, reason: str) -> None:
        self._violations += 1
        self.core.metrics.count("agenthost_protocol_violations_total")
        log.info("%s broke the protocol: %s", self.name, reason[:200])
        if self._violations >= MOST_VIOLATIONS:
            self.end(CloseCode.POLICY_VIOLATION, "too many messages that break the protocol")

    def refuse_version(self, error: UnsupportedProtocolVersion) -> None:
        """End the connection after the refusal of its versions has left."""
        self.core.writer.ledger.deliver(lambda: self.end(CloseCode.NORMAL, error.message))

    def _too_slow(self, waiting: int) -> None:
        self.core.metrics.count("agenthost_slow_clients_total")
        log.warning("%s is too slow: %d bytes wait for it", self.name, waiting)
        reason = f"too slow: {waiting} bytes waited; reconnect to resume"
        self.end(CloseCode.TRY_AGAIN_LATER, reason)

    def _stalled(self, waiting: int) -> None:
        self.core.metrics.count("agenthost_slow_clients_total")
        log.warning("%s takes nothing any more: %d bytes wait for it", self.name, waiting)
        reason = f"stopped reading: {waiting} bytes waited and none was taken; reconnect to resume"
        self.end(CloseCode.TRY_AGAIN_LATER, reason)

    def _leave(self) -> None:
        self._give_up_asking()
        if self.core.remote_owner is not None:
            # First: who leaves may come back, who stops following a session is not active there.
            self.core.remote_owner.left(self)
        for channel in list(self.subscriptions):
            self.unsubscribe(channel)
        self.outbox.close()
        if self.client_id and self.core.clients.left(self):
            self.core.active_clients.left(self.client_id)

    def _log_out(self, message: Encoded) -> None:
        if self.core.wire_log is not None:
            self.core.wire_log.record("out", self.name, message.payload)


@cache
def _is_told_prefix(version: str) -> bool:
    """Say whether clients of a version are told what messages begin with that are commands.

    To all others such a text is an ordinary message: running it would surprise whoever wrote it.
    """
    told = {"terminalCommandPrefix": ""}
    return "terminalCommandPrefix" in translator(version).result_down("initialize", {}, told)


def _may_be_large(request: Request) -> bool:
    if is_side_channel(request):
        return False
    if request.method == "initialize":
        # Who asks for nothing gets in whatever others wait for.
        return bool(request.params.get("initialSubscriptions"))
    # What a client must be asked for keeps nobody else from theirs, and a frame of its was read
    # one at a time.
    return METHODS[request.method].large and lane_of(request) is not Beside.FREE
