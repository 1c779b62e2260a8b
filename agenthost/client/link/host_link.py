"""One connection to a host: frames in and out, calls and their answers, liveness checks.

Owns everything that dies with a connection: calls without an answer, frames that wait for a full
socket, requests of the host being served. What outlives it (channels, actions, coming back) is the
``client_core``'s; what may be said when is ``protocol.peer``'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agenthost.client.errors import ConnectionLost
from agenthost.clock import Clock
from agenthost.errors import InternalError, WireError
from agenthost.protocol.jsonrpc import Notification, Request
from agenthost.protocol.peer import CallAnswered, CallRefused, Event, Frame, Peer, Violation
from agenthost.protocol.uris import ROOT
from agenthost.tasks import Tasks
from agenthost.transport import CloseCode, Encoded, Transport, TransportClosed

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)


# Bytes in the socket's own buffer at which frames wait here instead, where they are surely unsent.
_SOCKET_BACKLOG = 256 * 1024

# Frames taken in a row before others get to run; a carrier that is never empty would starve them.
_FRAMES_IN_A_ROW = 64

# Requests of the host that may be served at once; one that sends more is told to wait.
_MOST_SERVED = 64

# Sees every message: which way it goes, and its bytes.
Observe = Callable[[Literal["in", "out"], bytes], None]


class LinkOwner(Protocol):
    """The receiver of what arrives on a link, called synchronously and in order."""

    def on_action(self, envelope: JsonObject) -> None:
        """Handle an action envelope."""
        ...

    def on_notification(self, method: str, params: JsonObject) -> None:
        """Handle any other notification."""
        ...

    def on_tick(self, link: HostLink) -> None:
        """Handle what has waited for too long; called about once per ping interval."""
        ...

    def serve(self, method: str, params: JsonObject) -> Coroutine[Any, Any, Any]:
        """Carry out a request of the host and return its result, or raise a WireError."""
        ...


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """Settings of a link: liveness checks, and an observer of all messages."""

    # Seconds of silence after which the host is asked whether it is there.
    ping_interval: float = 20.0
    # Seconds within which it must then say something.
    ping_timeout: float = 20.0
    observe: Observe | None = None


@dataclass(slots=True)
class _Call:
    """A request of ours without an answer."""

    future: asyncio.Future[Any]
    # Takes up the result at the very moment it arrives, before anything behind it is looked at.
    adopt: Callable[[Any], None] | None


class HostLink:
    """One connection to a host, until it ends."""

    def __init__(
        self, transport: Transport, owner: LinkOwner, clock: Clock, options: LinkOptions
    ) -> None:
        self._transport = transport
        self._owner = owner
        self._clock = clock
        self._options = options
        self._peer = Peer("client")
        self._calls: dict[int, _Call] = {}
        # Frames that the socket would not take yet, each with what to call once it has it.
        self._unsent: deque[tuple[Frame, Callable[[], None] | None]] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._tasks = Tasks()
        self._serving = 0
        # When something last came, by the monotonic clock.
        self._heard_at = clock.monotonic()
        # How the link ended, once it did.
        self.ended: TransportClosed | None = None

    def call(
        self, method: str, params: JsonObject, adopt: Callable[[Any], None] | None = None
    ) -> asyncio.Future[Any]:
        """Send a request; the future gets its result, a WireError, or ConnectionLost.

        ``adopt`` is called with the result before anything that came behind it is looked at.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_mark_retrieved)
        if self.ended is not None:
            future.set_exception(_lost(method, self.ended))
            return future
        id = self._peer.call(method, {"channel": ROOT, **params})
        self._calls[id] = _Call(future, adopt)
        self._send()
        return future

    def notify(
        self, method: str, params: JsonObject, on_sent: Callable[[], None] | None = None
    ) -> None:
        """Send a notification; ``on_sent`` is called when it may have reached the host."""
        if self.ended is None:
            self._peer.notify(method, params)
            self._send(on_sent)

    async def run(self) -> TransportClosed:
        """Carry messages until the link ends; return how it ended."""
        reading = asyncio.create_task(self._read(), name="read")
        watching = asyncio.create_task(self._watch(), name="watch")
        try:
            await asyncio.wait({reading, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reading.cancel()
            watching.cancel()
            ends = await asyncio.gather(reading, watching, return_exceptions=True)
            closed = next((end for end in ends if isinstance(end, TransportClosed)), None)
            self._end(closed or TransportClosed(CloseCode.ABNORMAL, "the connection was given up"))
            await self._tasks.close()
        assert self.ended is not None
        return self.ended

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """End the link, sending what is possible within a short grace."""
        if self._transport.backlog <= _SOCKET_BACKLOG:
            self._write_all()
        await self._transport.close(code, reason)

    async def _read(self) -> TransportClosed:
        try:
            while True:
                for _ in range(_FRAMES_IN_A_ROW):
                    self._take(await self._transport.receive())
                await asyncio.sleep(0)
        except TransportClosed as closed:
            return closed
        except Exception:
            log.exception("the connection is given up")
            return TransportClosed(CloseCode.ABNORMAL, "a message could not be handled")

    async def _watch(self) -> TransportClosed:
        interval = self._options.ping_interval
        while True:
            await self._clock.sleep(interval - self._silence())
            self._owner.on_tick(self)
            if self._silence() < interval:
                continue
            asked_at = self._clock.monotonic()
            self.call("ping", {})
            await self._clock.sleep(self._options.ping_timeout)
            if self._heard_at < asked_at:
                return TransportClosed(CloseCode.ABNORMAL, "the host does not answer")

    def _silence(self) -> float:
        return self._clock.monotonic() - self._heard_at

    def _take(self, frame: bytes) -> None:
        self._heard_at = self._clock.monotonic()
        if self._options.observe is not None:
            self._options.observe("in", frame)
        self._peer.feed(frame)
        while (event := self._peer.next_event()) is not None:
            self._act(event)
        self._send()

    def _act(self, event: Event) -> None:
        match event:
            case CallAnswered(id, _, result):
                self._answer(id, result)
            case CallRefused(id, _, error):
                call = self._calls.pop(id)
                if not call.future.done():
                    call.future.set_exception(error)
            case Notification("action", params):
                self._owner.on_action(params)
            case Notification(method, params):
                self._owner.on_notification(method, params)
            case Request():
                self._serve(event)
            case Violation(reason):
                log.info("the host broke the protocol: %s", reason[:200])

    def _answer(self, id: int, result: Any) -> None:
        call = self._calls.pop(id)
        try:
            if call.adopt is not None:
                call.adopt(result)
        except Exception as error:
            if not call.future.done():
                call.future.set_exception(error)
            return
        if not call.future.done():
            call.future.set_result(result)

    def _serve(self, request: Request) -> None:
        if self._serving >= _MOST_SERVED:
            self._peer.refuse(request.id, InternalError("too many requests at once"))
            return
        self._serving += 1
        self._tasks.start(self._respond(request), name=f"serve {request.method}")

    async def _respond(self, request: Request) -> None:
        try:
            result = await self._owner.serve(request.method, request.params)
        except WireError as error:
            self._peer.refuse(request.id, error)
        except Exception:
            # What went wrong here is not the host's to know.
            log.exception("serving %s failed", request.method)
            self._peer.refuse(request.id, InternalError())
        else:
            self._peer.respond(request.id, result)
        finally:
            self._serving -= 1
        self._send()

    def _send(self, on_sent: Callable[[], None] | None = None) -> None:
        frames = self._peer.take_output()
        for position, frame in enumerate(frames, 1):
            self._unsent.append((frame, on_sent if position == len(frames) else None))
        if not self._unsent or self._pump is not None:
            return
        if self._transport.backlog <= _SOCKET_BACKLOG:
            self._write_all()
        else:
            self._pump = self._tasks.start(self._pump_unsent(), name="send")

    async def _pump_unsent(self) -> None:
        try:
            while self._unsent and not self._transport.closed:
                await self._transport.drained()
                self._write_all()
        finally:
            self._pump = None

    def _write_all(self) -> None:
        if self._transport.closed:
            # Nothing written now can reach the host, so it counts as never sent.
            return
        unsent, self._unsent = self._unsent, deque()
        messages = [Encoded(frame) for frame, _ in unsent]
        if self._options.observe is not None:
            for message in messages:
                self._options.observe("out", message.payload)
        self._transport.write(messages)
        for _, on_sent in unsent:
            if on_sent is not None:
                on_sent()

    def _end(self, closed: TransportClosed) -> None:
        self.ended = closed
        self._unsent.clear()
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.future.done():
                call.future.set_exception(_lost("a request", closed))


def _lost(what: str, closed: TransportClosed) -> ConnectionLost:
    why = closed.reason or f"code {closed.code}"
    return ConnectionLost(f"the connection ended before {what} was answered: {why}")


def _mark_retrieved(future: asyncio.Future[Any]) -> None:
    """Mark a future's exception as retrieved: its caller may have gone."""
    if not future.cancelled():
        future.exception()
