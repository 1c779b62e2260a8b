"""The feed: every message of the realm's log once, in order, whatever happens to the servers.

An ordered consumer of our own. ``nats-py`` has one, which answers flow control by polling and tells
nobody of heartbeats, by which a node knows that what it has seen is all there is.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription as NatsSubscription
from nats.errors import Error as NatsError

from agenthost.cluster.commits import unit_of_body
from agenthost.cluster.realm.connection import quietly_unsubscribe
from agenthost.cluster.realm.errors import (
    FellBehind,
    RealmReplaced,
    RealmUnreachable,
)
from agenthost.cluster.realm.stream import NOT_FOUND, ApiError, RealmStream, StreamState
from agenthost.cluster.units import unit_of_token

if TYPE_CHECKING:
    from agenthost.cluster.realm.connection import RealmLink

log = logging.getLogger(__name__)

_SECOND = 1_000_000_000
_HEARTBEAT = 0.5
# Seconds without message or heartbeat after which the consumer is given up.
_SILENCE = 1.6
_PAUSE = 0.2
# Seconds for which a leader may have less than was seen: a new one, or one that is none any more.
_STALE = 15.0


@dataclass(frozen=True, slots=True)
class FeedMessage:
    """One message of the log."""

    seq: int
    unit: str
    body: bytes


class RealmFeed:
    """The messages after one of them, for ever; ``async for`` gives them, ``close`` ends it.

    Raises, while it is read:
        FellBehind: what comes next was purged.
        RealmReplaced: the stream is another one, or has lost what was seen of it.
    """

    def __init__(self, link: RealmLink, after: int) -> None:
        self._link = link
        self._stream = RealmStream(link)
        self._created = None if link.info is None else link.info.created
        # The last message that was given out.
        self.position = after
        # The newest one of the stream, as far as was heard.
        self.last = after
        # When something was last heard, by the machine's monotonic clock.
        self.heard_at = float("-inf")
        self._arrived: deque[Msg] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._subscription: NatsSubscription | None = None
        self._consumer: str | None = None
        # Messages of this consumer so far; it numbers them, and one that is missing shows.
        self._delivered = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedMessage:
        while True:
            while self._arrived:
                message = await self._judge(self._arrived.popleft())
                if message is not None:
                    return message
            if self._consumer is None or not await self._something_came():
                await self._begin()

    async def close(self) -> None:
        """Hear no more."""
        subscription, self._subscription = self._subscription, None
        consumer, self._consumer = self._consumer, None
        # What is left there belongs to a consumer that is over.
        self._arrived = deque()
        if subscription is not None:
            await quietly_unsubscribe(subscription)
        if consumer is not None:
            try:
                # It ends by itself otherwise, a few seconds later.
                name = f"$JS.API.CONSUMER.DELETE.{self._link.stream}.{consumer}"
                await self._link.client.publish(name)
            except NatsError:
                log.debug("a consumer was not ended", exc_info=True)

    async def _something_came(self) -> bool:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(_SILENCE):
                await self._waiter
        except TimeoutError:
            return False
        finally:
            self._waiter = None
        return True

    async def _judge(self, message: Msg) -> FeedMessage | None:
        headers = message.headers or {}
        if headers.get("Status") == "100":
            await self._tend(message, headers)
            return None
        # $JS.ACK.<stream>.<consumer>.<times>.<stream seq>.<consumer seq>.<time>.<pending>, and two
        # more at the beginning (domain, account) where those are told.
        words = message.reply.split(".")
        begin = 5 if len(words) == 9 else 7
        seq, place, pending = int(words[begin]), int(words[begin + 1]), int(words[begin + 3])
        if place != self._delivered + 1:
            log.info("the feed misses a message after %d; it begins again there", self.position)
            await self.close()
            return None
        self._delivered = place
        self.last = max(self.last, seq + pending)
        self.position = seq
        unit = unit_of_token(message.subject.rpartition(".")[2])
        return FeedMessage(seq, unit_of_body(message.data) if unit is None else unit, message.data)

    async def _tend(self, message: Msg, headers: dict[str, str]) -> None:
        """Answer for everything before it, which has been given out by now."""
        answer = message.reply or headers.get("Nats-Consumer-Stalled")
        if answer:
            try:
                await self._link.client.publish(answer)
            except NatsError:
                log.debug("flow control was not answered", exc_info=True)
        if int(headers.get("Nats-Last-Consumer", "0")) > self._delivered:
            log.info("the feed misses messages after %d; it begins again there", self.position)
            await self.close()

    async def _begin(self) -> None:
        """Have a consumer that begins right after the position, as soon as there can be one."""
        stale_since: float | None = None
        while True:
            await self.close()
            try:
                await self._subscribe()
                return
            except RealmReplaced:
                # A leader that is none any more may say so too, or a server that is just starting.
                now = time.monotonic()
                stale_since = now if stale_since is None else stale_since
                if now - stale_since > _STALE:
                    raise
            except (NatsError, ApiError, RealmUnreachable) as error:
                log.debug("no feed yet: %s", error)
            await asyncio.sleep(_PAUSE)

    async def _subscribe(self) -> None:
        state = await self._state()
        if self._created is not None and state.created != self._created:
            raise RealmReplaced("the realm's stream is another one than before")
        self._created = state.created
        if state.last < self.position:
            raise RealmReplaced(
                f"the realm's stream ends at {state.last}, and was seen up to {self.position}"
            )
        client = self._link.client
        inbox = client.new_inbox()
        arrived = self._arrived

        async def take(message: Msg) -> None:
            self.heard_at = time.monotonic()
            arrived.append(message)
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(None)

        self._delivered = 0
        self._subscription = await client.subscribe(inbox, cb=take)
        config = {
            "deliver_subject": inbox,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self.position + 1,
            "ack_policy": "none",
            "replay_policy": "instant",
            "max_deliver": 1,
            "flow_control": True,
            "idle_heartbeat": int(_HEARTBEAT * _SECOND),
            "inactive_threshold": 5 * _SECOND,
            "mem_storage": True,
            "num_replicas": 1,
        }
        made = await self._stream.call(
            f"CONSUMER.CREATE.{self._link.stream}",
            {"stream_name": self._link.stream, "config": config},
        )
        self._consumer = made["name"]
        # Looked at only now: a purge just before would not have shown earlier.
        state = await self._state()
        if state.first > self.position + 1:
            await self.close()
            raise FellBehind(
                f"what follows {self.position} is not in the realm any more, which begins at"
                f" {state.first}"
            )
        self.last = max(self.last, state.last)

    async def _state(self) -> StreamState:
        try:
            return await self._stream.state()
        except ApiError as error:
            if error.error_code == NOT_FOUND:
                raise RealmReplaced("the realm's stream is gone") from None
            raise
