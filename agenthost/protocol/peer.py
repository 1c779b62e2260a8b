"""One end of a connection without I/O: frames in, events out, frames to send.

Owns the handshake state, the pending calls of both directions and the id rules; host and client
sit on it. It does not read clocks or sockets, does not check parameters (``inbound`` does) and
does not know what a method means.

Use: ``feed`` every received frame, then pull ``next_event`` until it gives None, then send what
``take_output`` holds. While a handshake request is unanswered ``next_event`` holds back what came
behind it, so a client may pipeline and still be handled in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from enum import Enum
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from agenthost.errors import (
    InvalidRequest,
    LocalProtocolError,
    MethodNotFound,
    WireError,
    shortened,
)
from agenthost.protocol import jsonrpc
from agenthost.protocol.jsonrpc import Failure, Id, InboundError, Notification, Request, Success
from agenthost.protocol.methods import Direction, methods
from agenthost.protocol.uris import is_mcp

Role: TypeAlias = Literal["host", "client"]

# The requests with which a client may open a connection; either may be the first.
OPENERS = frozenset({"initialize", "reconnect"})
# Answered at any time: liveness must not depend on the handshake.
ALWAYS_ALLOWED = frozenset({"ping"})


class HandshakeState(Enum):
    """How far the opening of a connection has come."""

    AWAITING = "awaiting"
    NEGOTIATING = "negotiating"
    ESTABLISHED = "established"


class CallAnswered(Struct, frozen=True):
    """A call that this side made has its result."""

    id: int
    method: str
    result: Any


class CallRefused(Struct, frozen=True):
    """A call that this side made was answered with an error."""

    id: int
    method: str
    error: WireError


class Violation(Struct, frozen=True):
    """The peer broke a rule; it was answered where that is allowed, and nothing else happened."""

    reason: str


# One encoded message: whole, or in pieces that belong together.
Frame: TypeAlias = bytes | Sequence[bytes]
Event: TypeAlias = Request | Notification | CallAnswered | CallRefused | Violation


class Peer:
    """The protocol state of one side of one connection."""

    def __init__(self, role: Role, knows: Collection[str] = ()) -> None:
        """``knows`` are notifications that the protocol does not have, and the peer may send."""
        self.role = role
        # Openers move it forward; a refused opener moves it back.
        self.handshake = HandshakeState.AWAITING
        # The opener being decided, to recognise its answer.
        self._opener: Id = None
        # Frames that were fed and not looked at yet.
        self._inbox: deque[bytes | str] = deque()
        # Encoded frames that wait to be sent; large ones in pieces, to be joined where they leave.
        self._output: list[Frame] = []
        # Calls of ours without an answer: id -> method.
        self._calls: dict[int, str] = {}
        self._next_id = 1
        # Calls of the peer's that we have not answered: id -> method.
        self._open_requests: dict[Id, str] = {}
        direction = Direction.TO_HOST if role == "host" else Direction.TO_CLIENT
        self._known_requests = methods(direction, is_notification=False)
        self._known_notifications = methods(direction, is_notification=True) | set(knows)

    def feed(self, frame: bytes | str) -> None:
        """Take one received frame."""
        self._inbox.append(frame)

    def next_event(self) -> Event | None:
        """Return the next thing to act on, or None when there is nothing (yet)."""
        while self._inbox and not (
            self.role == "host" and self.handshake is HandshakeState.NEGOTIATING
        ):
            event = self._read(self._inbox.popleft())
            if event is not None:
                return event
        return None

    def take_output(self) -> list[Frame]:
        """Return the frames to send, in order, and forget them."""
        output, self._output = self._output, []
        return output

    @property
    def pending_calls(self) -> int:
        """How many calls of this side wait for an answer."""
        return len(self._calls)

    def call(self, method: str, params: dict[str, Any]) -> int:
        """Send a request and return its id; the answer comes as CallAnswered or CallRefused."""
        id = self._next_id
        frame = jsonrpc.encode(Request(id, method, params))
        self._next_id += 1
        self._calls[id] = method
        if self.role == "client" and method in OPENERS:
            self.handshake, self._opener = HandshakeState.NEGOTIATING, id
        self._output.append(frame)
        return id

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        self._output.append(jsonrpc.encode(Notification(method, params)))

    def respond(self, id: Id, result: Any) -> None:
        """Answer a request of the peer's."""
        # Encoded first: a result that cannot be encoded leaves the request open, to be refused.
        frame = jsonrpc.encode(Success(id, result))
        self._close_request(id, succeeded=True)
        self._output.append(frame)

    def respond_encoded(self, id: Id, result: Sequence[bytes]) -> None:
        """Answer a request with a result that is JSON already, in pieces."""
        self._close_request(id, succeeded=True)
        head = b'{"jsonrpc":"2.0","id":', jsonrpc.dumps(id), b',"result":'
        self._output.append((*head, *result, b"}"))

    def refuse(self, id: Id, error: WireError) -> None:
        """Answer a request of the peer's with an error."""
        frame = jsonrpc.encode(Failure(id, error))
        self._close_request(id, succeeded=False)
        self._output.append(frame)

    def _close_request(self, id: Id, *, succeeded: bool) -> None:
        method = self._open_requests.pop(id, None)
        if method is None:
            raise LocalProtocolError(f"there is no open request {id!r} to answer")
        if method in OPENERS and self._opener == id:
            self.handshake = HandshakeState.ESTABLISHED if succeeded else HandshakeState.AWAITING
            self._opener = None

    def _read(self, frame: bytes | str) -> Event | None:
        try:
            message = jsonrpc.decode(frame)
        except InboundError as problem:
            if problem.reply is not None:
                self._output.append(jsonrpc.encode(problem.reply))
            return Violation(problem.error.message)
        match message:
            case Request():
                return self._read_request(message)
            case Notification():
                return self._read_notification(message)
            case Success(id, _) | Failure(id, _):
                return self._read_answer(id, message)

    def _read_request(self, request: Request) -> Event | None:
        refusal = self._refusal(request)
        if refusal is not None:
            self._output.append(jsonrpc.encode(Failure(request.id, refusal)))
            return Violation(f"{shortened(request.method)}: {refusal.message}")
        self._open_requests[request.id] = request.method
        if self.role == "host" and request.method in OPENERS:
            self.handshake, self._opener = HandshakeState.NEGOTIATING, request.id
        return request

    def _refusal(self, request: Request) -> WireError | None:
        if request.id in self._open_requests:
            return InvalidRequest(f"request id {_quoted(request.id)} is in use")
        is_beside = self.role == "host" and is_side_channel(request)
        if request.method not in self._known_requests and not is_beside:
            return MethodNotFound(f"unknown method {shortened(request.method)!r}")
        if self.role == "client" or (request.method in ALWAYS_ALLOWED and not is_beside):
            return None
        if request.method in OPENERS:
            if self.handshake is HandshakeState.ESTABLISHED:
                return InvalidRequest("this connection is initialized already")
            return None
        if self.handshake is not HandshakeState.ESTABLISHED:
            return InvalidRequest("send initialize or reconnect first")
        return None

    def _read_notification(self, notification: Notification) -> Event | None:
        if notification.method not in self._known_notifications:
            return None
        if self.role == "host" and self.handshake is not HandshakeState.ESTABLISHED:
            return Violation(f"{notification.method} before initialize")
        return notification

    def _read_answer(self, answered: Id, message: Success | Failure) -> Event:
        # Peers that have only floating-point numbers say 3.0 for our 3; to a look-up both are one.
        if not isinstance(answered, int | float) or answered not in self._calls:
            return Violation(f"an answer to request {_quoted(answered)}, which is not open")
        id = int(answered)
        method = self._calls.pop(id)
        if self.role == "client" and method in OPENERS and self._opener == id:
            succeeded = isinstance(message, Success)
            self.handshake = HandshakeState.ESTABLISHED if succeeded else HandshakeState.AWAITING
            self._opener = None
        if isinstance(message, Success):
            return CallAnswered(id, method, message.result)
        return CallRefused(id, method, message.error)


def is_side_channel(request: Request) -> bool:
    """Say whether a client asks an MCP server something, whatever the method: it is MCP's own."""
    channel = request.params.get("channel")
    return isinstance(channel, str) and is_mcp(channel) and request.method not in OPENERS


def _quoted(id: Id) -> str:
    return repr(shortened(id) if isinstance(id, str) else id)
