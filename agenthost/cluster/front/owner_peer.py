"""The front's end of a link to an owner: one connection of one client, in the newest version."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agenthost.errors import AgentHostError, InternalError, NotFound, WireError
from agenthost.host.remote_owner import CHANNEL_GONE
from agenthost.protocol.jsonrpc import Notification, Request
from agenthost.protocol.peer import CallAnswered, CallRefused, Frame, Peer
from agenthost.protocol.uris import ROOT
from agenthost.protocol.versions import NEWEST
from agenthost.transport import CloseCode, Encoded, Transport, TransportClosed

if TYPE_CHECKING:
    from agenthost.protocol.commands import ClientCapabilities
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

# Seconds in which an owner must answer that it has taken a client up.
OPEN_SECONDS = 10.0
# What an owner may ask of one client at once; it has a lower limit of its own.
MOST_CALLS = 256


class LinkBroken(AgentHostError):
    """A link to an owner ended, and with it what was under way over it."""


@dataclass(frozen=True, slots=True)
class LinkedClient:
    """Who a link speaks for, as its owner must know."""

    client_id: str
    capabilities: ClientCapabilities
    version: str = NEWEST
    locale: str | None = None
    program: str = ""
    # How often it had come to the realm when it came over the connection that is spoken for.
    arrival: int = 0


class OwnerPeer:
    """One client's connection to one owner."""

    def __init__(
        self,
        transport: Transport,
        *,
        on_notification: Callable[[str, JsonObject], None],
        on_call: Callable[[str, JsonObject], Awaitable[JsonObject]],
    ) -> None:
        """``on_notification`` gets what the owner tells, ``on_call`` what it asks."""
        self._transport = transport
        self._on_notification = on_notification
        self._on_call = on_call
        self._peer = Peer("client", knows={CHANNEL_GONE})
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._calls: set[asyncio.Task[None]] = set()
        # Done when nothing comes any more, with the reason that the other side gave.
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(), name=f"link {transport.peer}")

    async def open(self, client: LinkedClient, subscriptions: Iterable[str] = ()) -> None:
        """Have the owner take the client up; LinkBroken if it does not in time."""
        params: JsonObject = {
            "channel": ROOT,
            "protocolVersions": [NEWEST],
            "clientId": client.client_id,
            "capabilities": client.capabilities,
            "initialSubscriptions": list(subscriptions),
            "_spoken": client.version,
            "_arrival": client.arrival,
        }
        if client.locale is not None:
            params["locale"] = client.locale
        if client.program:
            params["clientInfo"] = {"name": client.program}
        try:
            await self.request("initialize", params, OPEN_SECONDS)
        except BaseException:
            self.close("the owner did not take the client up")
            raise

    async def request(self, method: str, params: JsonObject, seconds: float) -> Any:
        """Ask the owner for something, and return its answer.

        Raises:
            WireError: what the owner answers.
            LinkBroken: no answer can come any more, or none came in time.
        """
        answer = self.ask(method, params)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise LinkBroken("the machine that this belongs to does not answer") from None

    def ask(self, method: str, params: JsonObject) -> asyncio.Future[Any]:
        """Send a request now, behind everything that was sent before."""
        self._expect_open()
        id = self._peer.call(method, params)
        answer = self._asked[id] = asyncio.get_running_loop().create_future()
        # Perhaps nobody waits for it.
        answer.add_done_callback(lambda each: each.cancelled() or each.exception())
        self._flush()
        return answer

    def notify(self, method: str, params: JsonObject) -> None:
        """Tell the owner something."""
        self._expect_open()
        self._peer.notify(method, params)
        self._flush()

    def close(self, reason: str = "") -> None:
        """End the link."""
        self._end(reason)
        self._reading.cancel()
        # Not awaited: whoever ends it has left, and a carrier may take its time.
        task = asyncio.ensure_future(self._transport.close(CloseCode.NORMAL, reason[:100]))
        _closing.add(task)
        task.add_done_callback(_closed)

    def _expect_open(self) -> None:
        if self.closed.done():
            raise LinkBroken(self.closed.result())

    def _flush(self) -> None:
        frames = self._peer.take_output()
        if frames and not self._transport.closed:
            self._transport.write([Encoded(_whole(frame)) for frame in frames])

    async def _read(self) -> None:
        try:
            while True:
                self._peer.feed(await self._transport.receive())
                while (event := self._peer.next_event()) is not None:
                    self._take(event)
                self._flush()
        except TransportClosed as closed:
            self._end(str(closed))
        except Exception:
            log.exception("a link failed")
            self.close("the link failed")

    def _take(self, event: object) -> None:
        match event:
            case CallAnswered(id, _, result):
                waiter = self._asked.pop(id, None)
                if waiter is not None and not waiter.done():
                    waiter.set_result(result)
            case CallRefused(id, _, error):
                waiter = self._asked.pop(id, None)
                if waiter is not None and not waiter.done():
                    waiter.set_exception(error)
            case Notification(method, params):
                try:
                    self._on_notification(method, params)
                except Exception:
                    # One message's trouble must not cost the client the others.
                    log.exception("%s of an owner was not passed on", method)
            case Request():
                self._answer(event)

    def _answer(self, request: Request) -> None:
        if len(self._calls) >= MOST_CALLS:
            self._peer.refuse(request.id, NotFound("the client is asked too much at once"))
            return
        task = asyncio.create_task(self._carry_out(request), name=f"asked {request.method}")
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _carry_out(self, request: Request) -> None:
        try:
            result = await self._on_call(request.method, request.params)
            self._peer.respond(request.id, result)
        except WireError as error:
            self._peer.refuse(request.id, error)
        except Exception:
            log.exception("%s was not passed on to a client", request.method)
            self._peer.refuse(request.id, InternalError())
        if not self.closed.done():
            self._flush()

    def _end(self, reason: str) -> None:
        if self.closed.done():
            return
        self.closed.set_result(reason or "the link was closed")
        asked, self._asked = self._asked, {}
        for waiter in asked.values():
            if not waiter.done():
                waiter.set_exception(LinkBroken("the machine that this belongs to was lost"))
        for task in self._calls:
            task.cancel()


class OwnerPeers:
    """Links by the node that they go to, each opened once and again when it broke."""

    def __init__(self, open: Callable[[str], Coroutine[None, None, OwnerPeer]]) -> None:
        self._open = open
        self._opening: dict[str, asyncio.Task[OwnerPeer]] = {}
        self._is_over = False

    def __iter__(self) -> Iterator[OwnerPeer]:
        """Go through those that are open."""
        return (task.result() for task in list(self._opening.values()) if _is_open(task))

    async def get(self, node: str) -> OwnerPeer:
        """Return the link to a node, opening one where there is none."""
        if self._is_over:
            raise LinkBroken("the client has left")
        task = self._opening.get(node)
        if task is None or (task.done() and not _is_open(task)):
            task = asyncio.create_task(self._open(node), name=f"open link to {node}")
            task.add_done_callback(self._opened)
            self._opening[node] = task
        # Others wait for it too.
        return await asyncio.shield(task)

    def _opened(self, task: asyncio.Task[OwnerPeer]) -> None:
        if self._is_over and _is_open(task):
            task.result().close("the client has left")

    def close(self) -> None:
        """End all links."""
        self._is_over = True
        for peer in self:
            peer.close("the client has left")
        for task in self._opening.values():
            task.cancel()


def _is_open(task: asyncio.Task[OwnerPeer]) -> bool:
    if not task.done() or task.cancelled() or task.exception() is not None:
        return False
    return not task.result().closed.done()


# Closings under way; a task that nobody refers to may vanish.
_closing: set[asyncio.Future[None]] = set()


def _closed(task: asyncio.Future[None]) -> None:
    _closing.discard(task)
    if not task.cancelled() and task.exception() is not None:
        log.debug("a link was not closed: %s", task.exception())


def _whole(frame: Frame) -> bytes:
    return frame if isinstance(frame, bytes) else b"".join(frame)
