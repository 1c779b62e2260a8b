"""Sends messages to push services, at addresses that anybody with a token may name.

So a service is one that the whole Internet reaches: https alone, at a name, whose address is looked
up once, must be a public one, and is the very one connected to. No redirect is followed, little is
read, and none of it waits for long. What is sent, and to whom, others decide.
"""

from __future__ import annotations

import asyncio
import enum
import ipaddress
import logging
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from msgspec import Struct

from agenthost.clock import Clock
from agenthost.host.push.book import PushSubscription
from agenthost.host.push.keys import VapidKeys, authorization, sealed
from agenthost.tasks import in_own_thread

SECONDS = 10.0
"""What one attempt may take, from the lookup to the answer's head."""

MOST_ANSWER = 4096
"""Bytes of an answer that are read; its first line says it all."""

AT_ONCE, FOR_ONE = 8, 2
"""Messages under way, and of one token's: each has a thread of its own meanwhile, and whoever names
services that never answer is to keep nobody but themselves waiting."""

TRIES = 3
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
"""Seconds before the second try, and the longest that a service is waited for."""

KEPT_SECONDS = 12 * 3600
"""How long a service keeps a message for a browser that is away."""

HTTPS = 443
LONGEST_ENDPOINT = 2000

log = logging.getLogger(__name__)


class BadEndpoint(ValueError):
    """No push service can be there; the message says why."""


class Delivery(enum.Enum):
    """What became of a message."""

    SENT = "the push service has taken it"
    GONE = "the browser takes no more"
    FAILED = "it could not be sent"


class PushNote(Struct, frozen=True):
    """A message for a browser, in clear."""

    body: bytes
    # A later message of the same topic takes the place of one that was not delivered yet.
    topic: str
    urgency: str


class ServiceAnswer(Struct, frozen=True):
    """What a push service said."""

    status: int
    # Seconds after which it wants to be asked again.
    retry_after: float | None = None


class Connector(Protocol):
    """Opens a connection to a push service; tests bring one of their own."""

    def __call__(self, host: str, port: int, deadline: float) -> socket.socket:
        """Return a connected, encrypted socket; ``deadline`` is of ``time.monotonic``."""
        ...


class PushSender:
    """Speaks to push services, a few at a time and beside the event loop."""

    def __init__(self, clock: Clock, connect: Connector | None = None) -> None:
        self._clock = clock
        self._connect = connect or connect_publicly
        self._slots = asyncio.Semaphore(AT_ONCE)
        # By the token's name, while there is something to send.
        self._own_slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        # By address and topic: what takes a message back must not come in before it.
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def send(
        self,
        keys: VapidKeys,
        to: PushSubscription,
        note: PushNote,
        still: Callable[[], bool] = lambda: True,
    ) -> Delivery:
        """Send a message, and again where the service is busy as long as it is ``still`` wanted.

        Those of one topic to one browser come in one after the other, as they were sent.
        """
        pause = FIRST_PAUSE
        own_slots = self._own_slots.setdefault(to.name, asyncio.Semaphore(FOR_ONE))
        turn = self._turns.setdefault((to.endpoint, note.topic), asyncio.Lock())
        for attempt in range(1, TRIES + 1):
            async with turn, own_slots, self._slots:
                if not still():
                    return Delivery.FAILED
                answer = await in_own_thread(partial(self._attempt, keys, to, note), "push")
            if answer is not None and 200 <= answer.status < 300:
                return Delivery.SENT
            if answer is not None and answer.status in (404, 410):
                return Delivery.GONE
            if answer is not None and answer.status != 429 and answer.status < 500:
                log.warning("a push service refused a message: %s", answer.status)
                return Delivery.FAILED
            wait = pause if answer is None or answer.retry_after is None else answer.retry_after
            if attempt == TRIES or wait > LONGEST_PAUSE:
                break
            await self._clock.sleep(wait)
            pause *= 3
        log.warning("a push could not be delivered")
        return Delivery.FAILED

    def _attempt(
        self, keys: VapidKeys, to: PushSubscription, note: PushNote
    ) -> ServiceAnswer | None:
        """Send a message once; None where there was no answer."""
        try:
            host, target = place_of(to.endpoint)
            body = sealed(note.body, to.p256dh, to.auth)
            signed = authorization(keys, f"https://{host}", time.time())
            deadline = time.monotonic() + SECONDS
            with self._connect(host, HTTPS, deadline) as connection:
                connection.settimeout(_left(deadline))
                connection.sendall(_request(host, target, signed, note, body))
                return _answer(connection, deadline)
        except Exception as error:
            # Whatever a service answers, or a library makes of keys from a file. Not the address
            # itself: who reads the log could send pushes.
            log.info("no answer from a push service: %s", type(error).__name__)
            return None


def place_of(endpoint: str) -> tuple[str, str]:
    """Return the host and the path of a push service's address; raise BadEndpoint for others."""
    if len(endpoint) > LONGEST_ENDPOINT:
        raise BadEndpoint(f"longer than {LONGEST_ENDPOINT} characters")
    if not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint:
        raise BadEndpoint("not an address")
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        raise BadEndpoint("not an address") from None
    if parts.scheme != "https":
        raise BadEndpoint("push services are reached by https")
    host = parts.hostname or ""
    if "." not in host or "@" in parts.netloc or port not in (None, HTTPS):
        raise BadEndpoint("not the address of a push service")
    if not all(label.replace("-", "").isalnum() for label in host.split(".")):
        raise BadEndpoint("not the address of a push service")
    if host.rpartition(".")[2].isdigit():
        raise BadEndpoint("push services have names")
    path = parts.path or "/"
    return host, f"{path}?{parts.query}" if parts.query else path


def is_public(address: str) -> bool:
    """Say whether an address is one that the whole Internet means the same machine by."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inside = ip.ipv4_mapped or _translated(ip)
        if inside is not None:
            return is_public(str(inside))
        if ip.sixtofour is not None or ip.teredo is not None:
            # Tunnels that nobody keeps any more, to addresses of the older sort.
            return False
        if ip not in _GLOBAL:
            return False
    if any(ip in network for network in _NOWHERE):
        return False
    special = ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_loopback
    return ip.is_global and not ip.is_private and not ip.is_link_local and not special


_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
# Of the newer sort these alone are given out to the Internet.
_GLOBAL = ipaddress.ip_network("2000::/3")
# Not on the Internet either; which of them Python knows depends on its version.
_NOWHERE = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))


def _translated(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _TRANSLATED else None


def connect_publicly(host: str, port: int, deadline: float) -> socket.socket:
    """Connect to a public address of a name, and to no other; raise OSError where there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    public = [each for each in found if is_public(str(each[4][0]))]
    failure = OSError(f"{host} has no public address")
    for index, (family, kind, protocol, _, address) in enumerate(public):
        plain = socket.socket(family, kind, protocol)
        try:
            # Networks that promise one sort of address and lead nowhere with it are common, so
            # that each gets its share of the time.
            plain.settimeout(_left(deadline) / (len(public) - index))
            # The address that was looked at, not the name: that might mean another one by now.
            plain.connect(address)
            plain.settimeout(_left(deadline))
            return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        except OSError as error:
            plain.close()
            failure = error
        except BaseException:
            plain.close()
            raise
    raise failure


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _request(host: str, target: str, signed: str, note: PushNote, body: bytes) -> bytes:
    lines = [
        f"POST {target} HTTP/1.1",
        f"Host: {host}",
        f"Authorization: {signed}",
        "Content-Encoding: aes128gcm",
        "Content-Type: application/octet-stream",
        f"Content-Length: {len(body)}",
        f"TTL: {KEPT_SECONDS}",
        f"Topic: {note.topic}",
        f"Urgency: {note.urgency}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def _answer(connection: socket.socket, deadline: float) -> ServiceAnswer:
    """Read the head of an answer; raise OSError or ValueError where there is none."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < MOST_ANSWER:
        connection.settimeout(_left(deadline))
        piece = connection.recv(MOST_ANSWER - len(head))
        if not piece:
            break
        head += piece
    first, _, rest = head.partition(b"\r\n")
    words = first.split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise ValueError("not an answer")
    return ServiceAnswer(int(words[1]), _retry_after(rest.partition(b"\r\n\r\n")[0]))


def _retry_after(headers: bytes) -> float | None:
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"retry-after":
            # A date is possible too, and then it takes long.
            seconds = value.strip()
            return float(seconds) if seconds.isdigit() and len(seconds) < 10 else None
    return None
