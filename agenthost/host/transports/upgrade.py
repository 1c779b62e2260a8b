"""Reads one HTTP request on a new socket: answers it, or upgrades it to a WebSocket.

Owns the reading of one request head, its limits in size and time, and the way an answer leaves. On
a TLS port it begins TLS with the first bytes that come; ``tls_layer`` speaks it.
Who may come in and what the pages say is asked of ``websocket_server``, which asks the host.
"""

from __future__ import annotations

import asyncio
import logging
import re
from email.utils import formatdate
from typing import TYPE_CHECKING, cast

from websockets.http11 import Request

from agenthost.host.http.messages import (
    Headers,
    HttpRequest,
    HttpResponse,
    UpgradeRequest,
    format_peer,
    parse_target,
    serialize_head,
)
from agenthost.host.transports.tls_layer import TlsLayer, begins_tls
from agenthost.host.transports.websocket_reading import PatientProtocol
from agenthost.host.transports.websocket_transport import ServerWebSocket
from agenthost.host.transports.websocket_writing import end_output
from agenthost.host.trust.addresses import peer_group
from agenthost.host.trust.gate import Refusal
from agenthost.transport.quiet_log import QuietLogger

if TYPE_CHECKING:
    import ssl

    from agenthost.host.transports.websocket_server import WebSocketServer
    from agenthost.host.trust.principals import Principal

log = logging.getLogger(__name__)

# Bytes of a request head; cookies and proxies' headers fit, and many idle sockets stay cheap.
_MAX_HEAD = 16 * 1024

# What opening a WebSocket costs, in bytes' worth of the rate at which somebody may send.
_UPGRADE_COST = 16 * 1024

# Bytes of an answer that the socket is given at once; more it would keep for a client that does not
# read, and each such client its own copy.
_PIECE = 64 * 1024

# Seconds without progress after which a client that does not read its answer is cut off.
_ANSWER_PATIENCE = 10.0

_quiet = QuietLogger(log, {})

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP/(\d)\.(\d)\r\n")


class HttpHandshake(asyncio.Protocol):
    """Reads one request and answers it, or hands the socket on."""

    def __init__(self, server: WebSocketServer) -> None:
        self._server = server
        # What TLS is to be begun with; None once it has, or where none is spoken.
        self._tls = server.tls
        # The request so far; ends with an empty line.
        self._head = bytearray()
        # Whether an answer is on its way; what still comes in is dropped.
        self._answered = False
        # First the limit on the TLS handshake if there is one, and on the request's arrival, then
        # the watch over the answer's departure.
        self._timer: asyncio.TimerHandle | None = None
        # What of the answer's body the socket was not given yet, and whether it takes more now.
        self._body = memoryview(b"")
        self._paused = False
        # Whether the client will send nothing more.
        self._ended = False
        # Unsent bytes of the answer when the watch last looked.
        self._unsent = 0
        self._peer = ""
        # Whose share of the sockets without a token this one counts in.
        self.group = ""

    def abort(self) -> None:
        """Drop the socket."""
        self._socket.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to wait for the request; where TLS is spoken, a second time behind it."""
        self._socket = cast("asyncio.Transport", transport)
        if not self.group:
            self._peer = format_peer(transport.get_extra_info("peername"))
            self.group = peer_group(self._peer.rpartition(":")[0])
            if not self._server.add_handshake(self):
                self._answered = True
                self._socket.abort()
                return
        self._cancel_timer()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._server.handshake_timeout, self._too_slow)

    def data_received(self, data: bytes) -> None:
        """Gather the head; answer when it is complete or cannot become valid."""
        if self._answered:
            return
        if self._tls is not None:
            self._begin_tls(self._tls, data)
            return
        searched = max(0, len(self._head) - 3)
        self._head += data
        blank = self._head.find(b"\r\n\r\n", searched)
        size = len(self._head) if blank < 0 else blank + 4
        if not self._head[:1].isalpha():
            # Not a method's first letter: TLS on a plain port, say.
            self._refuse(400, "This is not an HTTP request.\n")
        elif size > _MAX_HEAD:
            self._refuse(431, "The request head is too long.\n")
        elif blank >= 0:
            self._head_received(bytes(self._head[:size]), bytes(self._head[size:]))

    def eof_received(self) -> bool:
        """Let the loop close the socket once the answer is out."""
        self._ended = True
        # TLS cannot stay open for our half alone.
        return bool(self._body) and self._socket.can_write_eof()

    def pause_writing(self) -> None:
        """Give the socket nothing more for now."""
        self._paused = True

    def resume_writing(self) -> None:
        """Give it the next piece."""
        self._paused = False
        self._write_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the client is gone."""
        self._cancel_timer()
        self._body = memoryview(b"")
        self._server.remove_handshake(self)

    # One request.

    def _begin_tls(self, context: ssl.SSLContext, received: bytes) -> None:
        if not begins_tls(received):
            self._refuse(400, "This port speaks TLS: use https:// or wss://.\n")
            return
        self._tls = None
        TlsLayer(self, context, self._server.handshake_timeout).begin(self._socket, received)

    def _head_received(self, head: bytes, rest: bytes) -> None:
        line = _REQUEST_LINE.match(head)
        if line is None:
            return self._refuse(400, "This is not an HTTP request.\n")
        method, target, major, minor = line.groups()
        if major != b"1":
            return self._refuse(505, "Speak HTTP/1.1.\n")
        if method not in (b"GET", b"HEAD"):
            allow = {"Allow": "GET, HEAD"}
            return self._refuse(405, "Only GET and HEAD are served here.\n", allow)
        protocol = PatientProtocol(max_size=self._server.options.max_message_size, logger=_quiet)
        # Not every release of the library takes another method or version.
        protocol.receive_data(b"GET %b HTTP/1.1\r\n" % target + head[line.end() :])
        request = next(iter(protocol.events_received()), None)
        if not isinstance(request, Request):
            return self._refuse(400, "The request is malformed or has a body.\n")
        try:
            path, query = parse_target(target.decode("ascii"))
        except ValueError:
            return self._refuse(400, "The request target is malformed.\n")
        headers = Headers(request.headers.raw_items())
        if method == b"GET" and headers.get("Upgrade", "").strip().lower() == "websocket":
            if minor == b"0":
                return self._refuse(505, "WebSockets need HTTP/1.1.\n")
            upgrade = UpgradeRequest("GET", path, query, headers, self._peer)
            return self._upgrade(upgrade, request, protocol, rest)
        self._page(HttpRequest(method.decode(), path, query, headers, self._peer))

    def _page(self, request: HttpRequest) -> None:
        try:
            response = self._server.pages(request)
            if response is None:
                response = HttpResponse(404, b"There is no such page.\n")
            head = _head_of(response)
        except Exception:
            # Without the target, which may hold a token.
            log.exception("a page for %s failed", self._peer)
            response = HttpResponse(500, b"Internal error.\n")
            head = _head_of(response)
        self._answer(head, b"" if request.method == "HEAD" else response.body)

    def _upgrade(
        self, upgrade: UpgradeRequest, request: Request, protocol: PatientProtocol, rest: bytes
    ) -> None:
        try:
            verdict = self._server.gate(upgrade)
        except Exception:
            log.exception("the gate failed for %s", self._peer)
            verdict = Refusal(500, "Internal error.\n")
        if isinstance(verdict, Refusal):
            return self._refuse(verdict.status, verdict.text, verdict.headers)
        if not self._server.has_seat(verdict):
            return self._refuse(503, "Too many connections.\n", {"Retry-After": "5"})
        response = protocol.accept(request)
        if response.status_code != 101:
            text = bytes(response.body or b"").decode(errors="replace")
            # RFC 6455 section 4.4 and RFC 9110 section 15.5.22: say what would be accepted.
            names = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
            return self._refuse(response.status_code, text, names)
        protocol.send_response(response)
        self._hand_over(protocol, verdict, rest)

    def _hand_over(self, protocol: PatientProtocol, principal: Principal, rest: bytes) -> None:
        self._cancel_timer()
        rate = self._server.rate(principal)
        if rate is not None:
            rate.charge(_UPGRADE_COST)
        large = self._server.large(principal)
        connection = ServerWebSocket(protocol, self._server.options, rate, large)
        self._socket.set_protocol(connection)
        self._socket.write(b"".join(protocol.data_to_send()))
        connection.connection_made(self._socket)
        self._server.serve_upgraded(self, connection, principal)
        if rest:
            connection.data_received(rest)

    # Answers.

    def _too_slow(self) -> None:
        if self._head:
            self._refuse(408, "The request took too long.\n")
        else:
            # Browsers open sockets in advance and expect them to be closed silently.
            self._socket.abort()

    def _refuse(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        response = HttpResponse(status, text.encode(), headers=headers or {})
        self._answer(_head_of(response), response.body)

    def _answer(self, head: bytes, body: bytes) -> None:
        self._answered = True
        self._head.clear()
        self._body = memoryview(body)
        self._socket.write(head)
        self._write_on()
        self._unsent = self._left()
        self._watch_answer()

    def _write_on(self) -> None:
        while self._body and not self._paused and not self._socket.is_closing():
            piece, self._body = self._body[:_PIECE], self._body[_PIECE:]
            self._socket.write(piece)
        if not self._body and self._answered and not self._socket.is_closing():
            # Half a close, and reading goes on: closing at once would reset the connection under a
            # client that still sends, and the answer would be lost.
            end_output(self._socket)
            if self._ended:
                self._socket.close()

    def _left(self) -> int:
        """Return how many bytes of the answer the client has not been sent yet."""
        return self._socket.get_write_buffer_size() + len(self._body)

    def _watch_answer(self) -> None:
        self._cancel_timer()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_ANSWER_PATIENCE, self._check_answer)

    def _check_answer(self) -> None:
        unsent = self._left()
        if unsent < self._unsent:
            self._unsent = unsent
            self._watch_answer()
        else:
            self._socket.abort()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _head_of(response: HttpResponse) -> bytes:
    return serialize_head(response, date=formatdate(usegmt=True))
