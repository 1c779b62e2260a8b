"""The WebSocket server: listens, limits connections, ends them in order.

Owns the listening sockets, the task that serves each connection, the limits on their number and
the orderly end of all. What comes over a connection is the business of the ``serve`` it is given;
``upgrade`` reads requests and ``websocket_transport`` carries messages.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Self

from agenthost.host.http.messages import HttpRequest, HttpResponse, UpgradeRequest
from agenthost.host.transports.listening_sockets import (
    ACCEPTED_AT_ONCE,
    LISTEN_BACKLOG,
    allow_descriptors,
    listen,
)
from agenthost.host.transports.upgrade import HttpHandshake
from agenthost.host.transports.websocket_transport import ServerWebSocket, WebSocketOptions
from agenthost.host.trust.gate import Refusal
from agenthost.host.trust.large_messages import LargeMessages
from agenthost.host.trust.limits import RateLimiter
from agenthost.host.trust.principals import Principal
from agenthost.transport import CloseCode, TransportClosed

log = logging.getLogger(__name__)

Admit = Callable[[UpgradeRequest], Principal | Refusal]
Serve = Callable[[ServerWebSocket, Principal], Awaitable[None]]
# From a principal, the number of connections, and that of its own: may it open another one?
Seats = Callable[[Principal, int, int], bool]
Rates = Callable[[Principal], RateLimiter | None]
LargeMessagesOf = Callable[[Principal], LargeMessages | None]
AnswerPage = Callable[[HttpRequest], HttpResponse | None]

_DEFAULTS = WebSocketOptions()

# Files that the process needs besides its sockets: stores, agents' pipes.
_OTHER_FILES = 512

# Seconds that clients get to say goodbye at shutdown, and that tasks then get to be cancelled.
_GOODBYE = 1.5
_CANCELLATION = 0.5


class WebSocketServer:
    """Listens within ``async with`` and runs ``serve`` for each connection the gate accepts.

    Args:
        host: an address or name to listen on; all addresses of a name are used.
        port: 0 takes a free one, see ``port``.
        gate: decides at the upgrade who may come in; its exceptions answer 500.
        serve: runs as a task per connection; the connection closes when it returns, with 1011
            when it raises anything but TransportClosed.
        pages: answers plain GET and HEAD requests; None is answered with 404.
        max_message_size: larger messages end their connection with 1009.
        max_connections: further upgrades are answered with 503.
        max_undecided: sockets without an accepted request, or in a TLS handshake before it. One
            more takes the place of the oldest from the address that has the most, so that silent
            ones keep nobody out.
        seats: tells whether somebody may open another connection; see ``Seats``.
        rates: gives the limiter of what somebody sends, in bytes, or None.
        large: gives the seats of somebody's large messages, or None.
        ping_interval, ping_timeout, close_grace: see ``WebSocketOptions``.
        handshake_timeout: seconds within which a request must have arrived, and before it the TLS
            handshake be done.
        tls: what to speak TLS with; None speaks none.

    Raises:
        CannotListen: on entering, when the address cannot be had.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        gate: Admit,
        serve: Serve,
        pages: AnswerPage = lambda request: None,
        max_message_size: int = _DEFAULTS.max_message_size,
        max_connections: int = 1000,
        max_undecided: int = 512,
        seats: Seats = lambda principal, taken, taken_by_same: True,
        rates: Rates = lambda principal: None,
        large: LargeMessagesOf = lambda principal: None,
        ping_interval: float | None = _DEFAULTS.ping_interval,
        ping_timeout: float | None = _DEFAULTS.ping_timeout,
        close_grace: float = _DEFAULTS.close_grace,
        handshake_timeout: float = 5.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._host = host
        self._port = port
        self.gate = gate
        self.pages = pages
        self.handshake_timeout = handshake_timeout
        self.options = WebSocketOptions(
            max_message_size=max_message_size,
            ping_interval=ping_interval,
            ping_timeout=ping_timeout,
            close_grace=close_grace,
        )
        self.tls = tls
        self._serve = serve
        self.rate = rates
        self.large = large
        self._max_connections = max_connections
        self._max_undecided = max_undecided
        self._seats = seats
        self._listeners: list[asyncio.Server] = []
        # Sockets that are not WebSockets, or not yet, oldest first, by the peer they belong to.
        self._handshakes: dict[str, dict[HttpHandshake, None]] = {}
        # How many they are.
        self.undecided = 0
        # Every open connection and the task that serves it and closes it.
        self._tasks: dict[ServerWebSocket, asyncio.Task[None]] = {}
        # How many of them each principal has.
        self._taken: Counter[Principal] = Counter()
        # Nothing new is let in any more.
        self._closing = False

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        allow_descriptors(self._max_connections + self._max_undecided + _OTHER_FILES)
        sockets = await listen(self._host, self._port)
        self._port = sockets[0].getsockname()[1]
        try:
            for sock in sockets:
                listener = await loop.create_server(
                    lambda: HttpHandshake(self), sock=sock, backlog=ACCEPTED_AT_ONCE
                )
                # To the loop that number says how many to accept in a row; the kernel may keep
                # more of them waiting.
                sock.listen(LISTEN_BACKLOG)
                self._listeners.append(listener)
        except BaseException:
            for sock in sockets:
                sock.close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def port(self) -> int:
        """The port that is listened on, the same for every address."""
        return self._port

    @property
    def connections(self) -> int:
        """How many WebSockets are open."""
        return len(self._tasks)

    async def aclose(self, reason: str = "the host is shutting down") -> None:
        """Stop listening, tell every client with 1001, and end all within two seconds."""
        self._closing = True
        for listener in self._listeners:
            listener.close()
        for handshake in [one for group in self._handshakes.values() for one in group]:
            handshake.abort()
        tasks = set(self._tasks.values())
        for connection in tuple(self._tasks):
            connection.start_close(CloseCode.GOING_AWAY, reason)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_GOODBYE)
            await self._end_by_force(late)
        for listener in self._listeners:
            await listener.wait_closed()
        self._listeners.clear()

    async def _end_by_force(self, tasks: set[asyncio.Task[None]]) -> None:
        for connection in tuple(self._tasks):
            connection.abort()
        for task in tasks:
            task.cancel()
        if tasks:
            _, stuck = await asyncio.wait(tasks, timeout=_CANCELLATION)
            for task in stuck:
                log.error("%s does not end when cancelled", task.get_name())

    # What a handshake asks.

    def has_seat(self, principal: Principal) -> bool:
        """Tell whether the limits on connections allow another one of somebody's."""
        taken = len(self._tasks)
        return taken < self._max_connections and self._seats(
            principal, taken, self._taken[principal]
        )

    def add_handshake(self, handshake: HttpHandshake) -> bool:
        """Take note of a new socket, unless the end has begun; too many cost the oldest one."""
        if self._closing:
            return False
        self._handshakes.setdefault(handshake.group, {})[handshake] = None
        self.undecided += 1
        if self.undecided > self._max_undecided:
            largest = max(self._handshakes.values(), key=len)
            oldest = next(iter(largest))
            self.remove_handshake(oldest)
            oldest.abort()
        return True

    def serve_upgraded(
        self, handshake: HttpHandshake, connection: ServerWebSocket, principal: Principal
    ) -> None:
        """Start to serve a connection."""
        self.remove_handshake(handshake)
        name = f"connection {connection.peer}"
        task = asyncio.create_task(self._run(connection, principal), name=name)
        self._tasks[connection] = task
        self._taken[principal] += 1
        task.add_done_callback(lambda _: self._ended(connection, principal))

    def remove_handshake(self, handshake: HttpHandshake) -> None:
        """Forget a socket that is gone, or no longer undecided."""
        group = self._handshakes.get(handshake.group, {})
        if handshake in group:
            del group[handshake]
            self.undecided -= 1
            if not group:
                del self._handshakes[handshake.group]

    def _ended(self, connection: ServerWebSocket, principal: Principal) -> None:
        del self._tasks[connection]
        self._taken[principal] -= 1
        if not self._taken[principal]:
            del self._taken[principal]

    async def _run(self, connection: ServerWebSocket, principal: Principal) -> None:
        code, reason = CloseCode.NORMAL, ""
        try:
            await self._serve(connection, principal)
        except TransportClosed:
            pass
        except Exception:
            log.exception("serving %s failed", connection.peer)
            code, reason = CloseCode.INTERNAL_ERROR, "internal error"
        finally:
            connection.start_close(code, reason)
        await connection.lost()
