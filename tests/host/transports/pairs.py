"""One host-side transport and a peer to it, for each kind of transport."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any, Protocol

import trustme
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close

from agenthost.host.http.messages import UpgradeRequest
from agenthost.host.transports import WebSocketServer, open_stdio
from agenthost.host.trust import LOCAL_OWNER, Principal
from agenthost.transport import Encoded, Transport, TransportClosed, memory_pair

# How long a peer may take to say goodbye where it never will: short, so that tests are quick.
GRACE = 0.05


class Peer(Protocol):
    """The other side of a transport under test."""

    async def send(self, message: bytes) -> None: ...

    async def receive(self) -> bytes: ...

    async def close(self, code: int, reason: str) -> None: ...


Pair = tuple[Transport, Peer]
MakePair = Callable[[], AbstractAsyncContextManager[Pair]]


class TransportPeer:
    """A peer that is a transport itself."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, message: bytes) -> None:
        self._transport.write([Encoded(message)])

    async def receive(self) -> bytes:
        return await self._transport.receive()

    async def close(self, code: int, reason: str) -> None:
        await self._transport.close(code, reason)


class LibraryPeer:
    """A WebSocket client that we did not write."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, message: bytes) -> None:
        await self._connection.send(message, text=True)

    async def receive(self) -> bytes:
        try:
            return await self._connection.recv(decode=False)
        except ConnectionClosed as closed:
            end = closed.rcvd or Close(1006, "")
            raise TransportClosed(end.code, end.reason) from None

    async def close(self, code: int, reason: str) -> None:
        await self._connection.close(code, reason)


def accept_all(request: UpgradeRequest) -> Principal:
    return LOCAL_OWNER


class Held:
    """A ``serve`` that hands its connections to the test and keeps them until it is done."""

    def __init__(self) -> None:
        self._accepted: asyncio.Queue[tuple[Transport, Any]] = asyncio.Queue()
        self._done = asyncio.Event()

    async def serve(self, transport: Transport, principal: Any) -> None:
        self._accepted.put_nowait((transport, principal))
        await self._done.wait()

    async def accepted(self) -> Transport:
        return (await self._accepted.get())[0]

    async def accepted_with_principal(self) -> tuple[Transport, Any]:
        return await self._accepted.get()

    def release(self) -> None:
        self._done.set()


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[tuple[WebSocketServer, Held]]:
    """Run a server whose connections the test holds."""
    held = Held()
    options = {"gate": accept_all, "close_grace": GRACE, **options}
    async with WebSocketServer("127.0.0.1", 0, serve=held.serve, **options) as server:
        try:
            yield server, held
        finally:
            held.release()


@asynccontextmanager
async def memory() -> AsyncIterator[Pair]:
    left, right = memory_pair()
    yield left, TransportPeer(right)


@asynccontextmanager
async def websocket() -> AsyncIterator[Pair]:
    async with (
        serving() as (server, held),
        connect(
            f"ws://127.0.0.1:{server.port}",
            max_size=None,
            max_queue=1,
            compression=None,
            close_timeout=GRACE,
        ) as client,
    ):
        yield await held.accepted(), LibraryPeer(client)


@cache
def tls_contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return a server's context and a client's; made once, because keys take their time."""
    authority = trustme.CA()
    shown, believed = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(shown)
    authority.configure_trust(believed)
    return shown, believed


@asynccontextmanager
async def tls() -> AsyncIterator[Pair]:
    shown, believed = tls_contexts()
    async with (
        serving(tls=shown) as (server, held),
        connect(
            f"wss://127.0.0.1:{server.port}",
            ssl=believed,
            max_size=None,
            max_queue=1,
            compression=None,
            close_timeout=GRACE,
        ) as client,
    ):
        yield await held.accepted(), LibraryPeer(client)


@asynccontextmanager
async def stdio() -> AsyncIterator[Pair]:
    with contextlib.ExitStack() as descriptors:
        (here_in, there_out), (there_in, here_out) = os.pipe(), os.pipe()
        for descriptor in (here_in, here_out, there_in, there_out):
            descriptors.callback(os.close, descriptor)
        host = await open_stdio(here_in, here_out, close_grace=GRACE)
        peer = await open_stdio(there_in, there_out, close_grace=GRACE)
        # The transports hold copies; only theirs shall keep the pipes open.
        descriptors.close()
        yield host, TransportPeer(peer)
        await asyncio.gather(host.close(), peer.close())


PAIRS: dict[str, MakePair] = {
    "memory": memory,
    "websocket": websocket,
    "tls": tls,
    "stdio": stdio,
}

__all__ = [
    "GRACE",
    "PAIRS",
    "Held",
    "LibraryPeer",
    "MakePair",
    "Pair",
    "Peer",
    "TransportPeer",
    "accept_all",
    "serving",
]
