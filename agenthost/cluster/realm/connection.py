"""A node's connection to the servers of its realm: plain messages, and what else stands on it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias
from urllib.parse import urlsplit

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription as NatsSubscription
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError, NoRespondersError, OutboundBufferLimitError
from nats.js import JetStreamContext

from agenthost.cluster.realm.errors import RealmError, RealmUnreachable
from agenthost.cluster.realm.nats_client import PatientClient
from agenthost.cluster.realm.stream import RealmInfo, RealmStream, StreamState
from agenthost.tasks import Tasks

log = logging.getLogger(__name__)

Reply: TypeAlias = Callable[[bytes], None]
Handler: TypeAlias = Callable[[str, bytes, Reply | None], None]

# Seconds after which a first connection will not come about; later ones are tried for ever.
_PATIENCE = 10.0
_RETRY = 0.25
# A server that is paused answers no pings: after four of these it is left for another.
_PING = 1.0
# What waits to be written, in bytes, above which plain messages are dropped.
_MOST_WAITING = 16 * 1024 * 1024
# What the client of NATS gathers while there is no server, which is sent whenever there is one.
_GATHERED = 2 * 1024 * 1024


@dataclass(frozen=True)
class RealmAddress:
    """Where a realm is."""

    servers: tuple[str, ...]
    realm: str = "main"
    credentials: Path | None = None

    def __str__(self) -> str:
        return ", ".join(map(_shown, self.servers))


class PlainSubscription:
    """A handler of plain messages, until it is closed."""

    def __init__(self, link: RealmLink, subject: str, handle: Handler) -> None:
        self.subject = subject
        self.handle = handle
        self._link = link
        self.attached: NatsSubscription | None = None

    async def close(self) -> None:
        """Hear no more."""
        await self._link.forget(self)


class RealmLink:
    """One connection to whichever server answers, for ever: ``async with`` opens and closes it.

    Plain messages are lost while there is no connection, and at every change of it.
    """

    def __init__(self, address: RealmAddress, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", address.realm):
            raise RealmError(
                f"“{address.realm}” cannot name a realm: letters, digits, - and _ can, up to 64"
            )
        self.address = address
        self.name = name
        self._client = PatientClient()
        self._tasks = Tasks()
        self._subscriptions: list[PlainSubscription] = []
        self._listeners: list[Callable[[bool], None]] = []
        self._closing = False
        self._trouble: Exception | None = None
        self.stream = f"AHP_{address.realm}"
        # Once it was opened.
        self.info: RealmInfo | None = None

    async def __aenter__(self) -> Self:
        if self.address.credentials is not None and not self.address.credentials.is_file():
            raise RealmError(f"there is no file of credentials at {self.address.credentials}")
        self._client = await self._connect()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing = True
        await self._tasks.close()
        await self._client.end()

    @property
    def is_connected(self) -> bool:
        """Whether a server is connected, as far as is known."""
        return self._client.is_connected

    @property
    def client(self) -> Client:
        """The connection of NATS as it is now; another one may take its place."""
        return self._client

    @property
    def jetstream(self) -> JetStreamContext:
        """JetStream over the connection as it is now: ask again for each use."""
        return self._client.jetstream(timeout=5)

    @property
    def waiting(self) -> int:
        """Bytes that were published and that the operating system has not taken yet."""
        return self._client.pending_data_size

    def on_state(self, tell: Callable[[bool], None]) -> None:
        """Have it told when the connection is lost and when there is one again."""
        self._listeners.append(tell)

    def subject(self, below: str) -> str:
        """Return the whole of a subject of the realm."""
        return f"ahp.{self.address.realm}.{below}"

    async def open_realm(
        self, *, create: bool = True, first_message: int = 1, replicas: int | None = None
    ) -> RealmInfo:
        """Find the realm's stream, or make it.

        Without ``replicas`` there are three where the servers are a cluster, else one.

        Raises:
            NoJetStream, RealmFull, RealmTooNew, RealmUnreachable: as they say.
            RealmError: there is no realm, or the stream is somebody else's.
        """
        self.info = await RealmStream(self).open(
            create=create, first_message=first_message, replicas=replicas
        )
        return self.info

    async def stream_state(self) -> StreamState:
        """Return what the stream's leader says of it."""
        return await RealmStream(self).state()

    async def purge_before(self, seq: int) -> None:
        """Forget the messages below one of them."""
        await RealmStream(self).purge_before(seq)

    async def publish(self, subject: str, payload: bytes) -> None:
        """Send a plain message to whoever hears now; it may be lost on the way."""
        if not self.is_connected or self.waiting > _MOST_WAITING:
            # Kept, it would arrive at some time or other, when nobody waits for it any more.
            return
        try:
            await self._client.publish(self.subject(subject), payload)
        except NatsError:
            log.debug("a message to %s was not sent", subject, exc_info=True)

    async def subscribe(self, subject: str, handle: Handler) -> PlainSubscription:
        """Hear plain messages; the handler is told the subject below the realm's."""
        subscription = PlainSubscription(self, subject, handle)
        self._subscriptions.append(subscription)
        await self._attach(subscription)
        return subscription

    async def request(self, subject: str, payload: bytes, timeout: float) -> bytes:
        """Ask whoever hears a subject.

        Raises:
            RealmUnreachable: nobody answered in time.
        """
        return await self.ask(self.subject(subject), payload, timeout)

    async def ask(
        self, subject: str, payload: bytes, timeout: float, headers: dict[str, str] | None = None
    ) -> bytes:
        """Ask for an answer on a subject that may be outside of the realm's."""
        asking = asyncio.create_task(
            self._client.request(subject, payload, timeout=timeout, headers=headers)
        )
        # Perhaps nobody is left to hear why it failed.
        asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            # In a task of its own: `nats-py` waits in ways that lose a cancellation.
            await asyncio.wait((asking,), timeout=timeout + 1.0)
            if not asking.done() or asking.cancelled():
                raise RealmUnreachable("no answer in time")
            answer = asking.result()
        except NoRespondersError:
            raise RealmUnreachable("nobody is there to answer") from None
        except OutboundBufferLimitError:
            raise RealmUnreachable("there is no connection to the realm's servers") from None
        except MaxPayloadError:
            raise too_large() from None
        except (NatsError, TimeoutError, OSError) as error:
            raise RealmUnreachable(f"no answer: {error}") from None
        finally:
            asking.cancel()
        return answer.data

    async def forget(self, subscription: PlainSubscription) -> None:
        """Hear nothing more for a subscription."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
        attached, subscription.attached = subscription.attached, None
        if attached is not None:
            await quietly_unsubscribe(attached)

    async def _attach(self, subscription: PlainSubscription) -> None:
        below = len(self.subject(""))

        async def handle(message: Msg) -> None:
            reply = message.reply
            answer = None if not reply else lambda payload: self._answer(reply, payload)
            try:
                subscription.handle(message.subject[below:], message.data, answer)
            except Exception:
                log.exception("a message on %s could not be handled", message.subject)

        try:
            subscription.attached = await self._client.subscribe(
                self.subject(subscription.subject), cb=handle
            )
        except NatsError:
            # Closed meanwhile: the next connection takes it along.
            log.debug("no subscription to %s yet", subscription.subject, exc_info=True)

    def _answer(self, reply: str, payload: bytes) -> None:
        async def send() -> None:
            try:
                await self._client.publish(reply, payload)
            except NatsError:
                log.debug("an answer was not sent", exc_info=True)

        if not self._closing:
            self._tasks.start(send(), "an answer")

    async def _connect(self) -> PatientClient:
        client = PatientClient()
        try:
            async with asyncio.timeout(_PATIENCE):
                await client.connect(
                    list(self.address.servers),
                    name=self.name,
                    user_credentials=self.address.credentials,
                    # Without it, it gives up after 60 tries; with it, it never gives up at first.
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=_RETRY,  # type: ignore[arg-type]
                    connect_timeout=2,
                    ping_interval=_PING,  # type: ignore[arg-type]
                    max_outstanding_pings=3,
                    pending_size=_GATHERED,
                    # Without it, writing to a server that is paused waits for ever.
                    flush_timeout=1.0,
                    error_cb=self._failed,
                    disconnected_cb=self._disconnected,
                    reconnected_cb=self._reconnected,
                    closed_cb=self._closed,
                )
        except TimeoutError:
            await client.end()
            raise RealmUnreachable(
                f"no NATS server answers at {self.address}: {self._reason()}"
            ) from None
        except (NatsError, OSError, ValueError) as error:
            await client.end()
            raise RealmUnreachable(f"cannot reach NATS at {self.address}: {error}") from None
        return client

    def _reason(self) -> str:
        return str(self._trouble) if self._trouble is not None else "it took too long"

    async def _failed(self, error: Exception) -> None:
        self._trouble = error
        log.debug("NATS: %s", error)

    async def _disconnected(self) -> None:
        self._tell(False)

    async def _reconnected(self) -> None:
        self._tell(True)

    async def _closed(self) -> None:
        # A server that says that something is wrong, with an -ERR, ends the client for good.
        if not self._closing:
            self._tasks.start(self._begin_again(), "a new connection to the realm")

    async def _begin_again(self) -> None:
        log.warning("the connection to the realm was ended: %s", self._reason())
        # The client of NATS may swallow a cancellation.
        while not self._closing:
            try:
                self._client = await self._connect()
                break
            except RealmError as error:
                log.warning("%s", error)
                await asyncio.sleep(_RETRY)
        for subscription in list(self._subscriptions):
            await self._attach(subscription)
        self._tell(True)

    def _tell(self, is_connected: bool) -> None:
        if not self._closing:
            for tell in list(self._listeners):
                tell(is_connected)


def too_large() -> RealmError:
    """Return what to say of servers that take only smaller messages than ours."""
    return RealmError("the NATS servers take no messages of 512 KB: raise their max_payload")


async def quietly_unsubscribe(subscription: NatsSubscription) -> None:
    """End a subscription, whatever has become of its connection."""
    try:
        await subscription.unsubscribe()
    except (nats.errors.Error, OSError, ValueError):
        log.debug("a subscription had ended already", exc_info=True)


def _shown(server: str) -> str:
    """Return an address without name and password."""
    try:
        parts = urlsplit(server)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else server
    except ValueError:
        return "an address that is none"
