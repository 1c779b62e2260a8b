"""Reaching a host: a WebSocket to an address, or the standard streams of a process of our own.

Owns dialling and what it may fail with. Carries whole messages and knows nothing of what they say;
the contract of a transport is ``agenthost.transport``'s. Tokens never get into logs or errors.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    ProxyError,
)

from agenthost.client.errors import CannotConnect, NotAdmitted
from agenthost.client.link.supervisor import Dial
from agenthost.transport import (
    LOW_WATER,
    CloseCode,
    Encoded,
    Transport,
    TransportClosed,
)
from agenthost.transport.lines import LineTransport
from agenthost.transport.quiet_log import QuietLogger

MakeContext = Callable[[], ssl.SSLContext]
"""Says whom to believe, anew for every attempt: certificates are renewed."""

log = logging.getLogger(__name__)


# Seconds until a connection must be open, and that its end may take.
_OPEN_TIMEOUT = 10.0
_CLOSE_GRACE = 2.0

# HTTP statuses that say "not now" rather than "not you".
_TEMPORARY = frozenset({408, 425, 429})

# The query parameter in which VS Code's clients send the token.
_TOKEN_PARAMETER = "tkn"

MOST_LINE = 256 * 1024 * 1024
"""Bytes of one line from a process; a host that sends more is not one."""

# Reading pauses while this much waits to be received.
_QUEUE_BYTES = 4 * 1024 * 1024

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def websocket_url(address: str) -> str:
    """Return the WebSocket URL that an address means; without a scheme it is ``ws://``.

    Raises:
        ValueError: the address cannot be one.
    """
    text = address if "://" in address else f"ws://{address}"
    parts = urlsplit(text)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname:
        raise ValueError(f"{_without_secrets(text)} is not the address of a host")
    return urlunsplit((scheme, parts.netloc, parts.path or "/", parts.query, ""))


def websocket(
    address: str,
    token: str | None = None,
    *,
    token_in_url: bool = False,
    max_message: int | None = None,
    tls: MakeContext | None = None,
) -> Dial:
    """Return a function that connects to a host's WebSocket.

    The token travels as a Bearer header, or as ``?tkn=`` where headers get lost on the way. A host
    that sends more than ``max_message`` bytes at once loses the connection. ``tls`` says whom to
    believe instead of those that the system believes.
    """
    url = websocket_url(address)
    headers: dict[str, str] = {}
    if token is not None and token_in_url:
        joint = "&" if "?" in url else "?"
        url += f"{joint}{_TOKEN_PARAMETER}={quote(token, safe='')}"
    elif token is not None:
        headers["Authorization"] = f"Bearer {token}"

    async def dial() -> Transport:
        context = None if tls is None or not url.startswith("wss:") else tls()
        return await _dial(url, headers, max_message, context)

    return dial


async def _dial(
    url: str, headers: dict[str, str], max_message: int | None, tls: ssl.SSLContext | None
) -> Transport:
    shown = _without_secrets(url)
    # What is not said is the library's own choice: none for ws, the system's for wss.
    believed: dict[str, Any] = {} if tls is None else {"ssl": tls}
    try:
        connection = await connect(
            url,
            additional_headers=headers,
            **believed,
            max_size=max_message,
            compression=None,
            open_timeout=_OPEN_TIMEOUT,
            close_timeout=_CLOSE_GRACE,
            # The link asks for signs of life itself, whatever carries it.
            ping_interval=None,
            # Nothing on this machine is reached through a proxy.
            proxy=None if urlsplit(url).hostname in _LOOPBACK else True,
            logger=QuietLogger(log, {}),
        )
    except InvalidStatus as error:
        raise _refusal(shown, error) from None
    except ssl.SSLCertVerificationError as error:
        raise NotAdmitted(f"{shown}: {error.verify_message}") from None
    except InvalidURI:
        raise NotAdmitted(f"{shown} is not the address of a host") from None
    except (OSError, TimeoutError, InvalidHandshake, ProxyError, EOFError) as error:
        raise CannotConnect(f"{shown} cannot be reached: {_why(error)}") from None
    return ClientWebSocket(connection, shown)


def _why(error: Exception) -> str:
    # The library's own words may quote the URL, and the URL may hold a token.
    if isinstance(error, ssl.SSLError):
        return f"it speaks no TLS that we understand ({error.reason or 'unknown'})"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    strerror = error.strerror if isinstance(error, OSError) else None
    return strerror or type(error).__name__


def _refusal(shown: str, error: InvalidStatus) -> CannotConnect | NotAdmitted:
    response = error.response
    body = (response.body or b"")[:200].decode(errors="replace").strip()
    said = f"{shown} answered {response.status_code}: {body or response.reason_phrase}"
    if response.status_code >= 500 or response.status_code in _TEMPORARY:
        after = response.headers.get("Retry-After", "")
        return CannotConnect(said, retry_after=float(after) if after.isdecimal() else None)
    return NotAdmitted(said, status=response.status_code)


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


class ClientWebSocket:
    """A ``Transport`` over a WebSocket that this side opened."""

    def __init__(self, connection: ClientConnection, peer: str) -> None:
        self._connection = connection
        self._peer = peer
        # Messages handed over that the library has not taken, and their bytes.
        self._waiting: deque[Encoded] = deque()
        self._waiting_bytes = 0
        self._sender: asyncio.Task[None] | None = None
        # Set while little waits, and at the end.
        self._drained = asyncio.Event()
        self._drained.set()
        self._closed = False

    async def receive(self) -> bytes:
        """Return the next message; see ``Transport.receive``."""
        try:
            return await self._connection.recv(decode=False)
        except ConnectionClosed as error:
            self._end()
            closed = error.rcvd or error.sent
            if closed is None or error.rcvd is None:
                raise TransportClosed(CloseCode.ABNORMAL, "the connection broke") from None
            raise TransportClosed(closed.code, closed.reason) from None

    def write(self, messages: Sequence[Encoded]) -> None:
        """Send messages; see ``Transport.write``."""
        if self._closed or not messages:
            return
        self._waiting.extend(messages)
        self._waiting_bytes += sum(map(len, messages))
        if self._waiting_bytes > LOW_WATER:
            self._drained.clear()
        if self._sender is None:
            self._sender = asyncio.create_task(self._send(), name=f"send to {self._peer}")

    @property
    def backlog(self) -> int:
        """Bytes not yet accepted by the operating system."""
        return self._waiting_bytes + self._connection.transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait for a low backlog or the end."""
        await self._drained.wait()

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Send what waits within the grace, then end the connection."""
        if self._sender is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_GRACE):
                    await asyncio.wait({self._sender})
        self._end()
        try:
            await self._connection.close(code, reason)
        finally:
            # Whoever cannot wait for the goodbye leaves no socket behind.
            self._connection.transport.abort()

    @property
    def closed(self) -> bool:
        """Whether nothing written from now on can reach the host."""
        return self._closed

    @property
    def peer(self) -> str:
        """The host's address without secrets."""
        return self._peer

    async def _send(self) -> None:
        try:
            while self._waiting:
                message = self._waiting[0]
                # Waits while the socket's own buffer is full.
                await self._connection.send(message.payload, text=True)
                if self._waiting:
                    self._waiting.popleft()
                self._waiting_bytes -= len(message)
                if self._waiting_bytes <= LOW_WATER:
                    self._drained.set()
        except ConnectionClosed:
            self._end()
        finally:
            self._sender = None

    def _end(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._waiting_bytes = 0
        self._drained.set()
        if self._sender is not None and self._sender is not asyncio.current_task():
            self._sender.cancel()


def command(*argv: str) -> Dial:
    """Return a function that starts a host as a child process and talks to its standard streams."""
    if not argv:
        raise ValueError("name the command that serves a host")

    async def dial() -> Transport:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
        except OSError as error:
            raise NotAdmitted(f"{argv[0]} cannot be started: {error.strerror}") from error
        return ProcessTransport(process, argv[0])

    return dial


class ProcessTransport(LineTransport):
    """A ``Transport`` that carries one message per line to and from a process."""

    def __init__(
        self, process: asyncio.subprocess.Process, name: str, *, max_line: int = MOST_LINE
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        super().__init__(
            process.stdout,
            process.stdin,
            peer=f"process {name}",
            max_line=max_line,
            queue_bytes=_QUEUE_BYTES,
        )
        self._process = process

    async def close(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Close the process's input, and end it if it does not end by itself soon."""
        self._end(code, reason)
        self._queue.discard()
        self._writer.close()
        if not await self._exited():
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
        if not await self._exited():
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._input_task.cancel()
        await asyncio.gather(self._input_task, return_exceptions=True)
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _exited(self) -> bool:
        try:
            async with asyncio.timeout(_CLOSE_GRACE):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    def _input_ended(self, failure: tuple[int, str] | None) -> None:
        self._end(*failure or (CloseCode.ABNORMAL, "the process ended"))

    def _end(self, code: int, reason: str) -> None:
        self._closed = True
        self._queue.end(code, reason)
