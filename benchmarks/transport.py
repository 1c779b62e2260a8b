"""How many messages per second reach 1 to 1,000 clients over loopback WebSockets.

Compares the broadcast of the `websockets` library, one message after the other, with our server
writing shared frames, some joined per write. The clients are raw sockets in a second process that
only counts bytes. Beside each rate stands the server's CPU time per message, in microseconds:
it is the steadier figure where other work shares the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import select
import socket
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.server import ServerConnection, broadcast, serve

from agenthost.host.transports import WebSocketServer
from agenthost.host.trust import LOCAL_OWNER
from agenthost.transport import Encoded, Transport

__all__ = ["allow_files", "run"]

CLIENTS = (1, 10, 100, 1000)
JOINED = (1, 8, 64)

# Seconds of sending per figure; sixteen figures and their connections stay under half a minute.
SECONDS = 0.8

# Unsent bytes per client above which the sender waits, as a host does.
HIGH_WATER = 256 * 1024

# A streamed delta as it looks on the wire.
PAYLOAD = (
    b'{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/3b1f0c52-7d0e-4f57-9f0b",'
    b'"action":{"type":"chat/delta","turnId":"turn-12","partId":"part-3","content":" and so on"},'
    b'"serverSeq":1234567}}'
)
FRAME_SIZE = len(Encoded(PAYLOAD).websocket)

# Messages delivered per second, and microseconds of the server's CPU time for each.
Figure = tuple[float, float]

# Sends one round of messages to every client and returns how many each one gets.
Round = Callable[[], int]


class Audience:
    """The process that holds the clients."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def command(self, *words: object) -> None:
        """Tell the process something and wait until it is done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        answer = await self._process.stdout.readline()
        if answer.strip() != b"done":
            raise RuntimeError(f"the clients failed at {words}")


@asynccontextmanager
async def audience() -> AsyncIterator[Audience]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "clients", stdin=PIPE, stdout=PIPE
    )
    try:
        yield Audience(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def measure(crowd: Audience, count: int, send: Round, backlog: Callable[[], int]) -> Figure:
    """Send rounds for a while, until all is delivered."""
    loop = asyncio.get_running_loop()
    start, cpu = loop.time(), time.process_time()
    sent = 0
    while loop.time() < start + SECONDS:
        sent += send()
        await asyncio.sleep(0)
        # The library has nothing to wait for, so both sides are polled alike.
        while backlog() > HIGH_WATER:
            await asyncio.sleep(0.001)
    await crowd.command("expect", sent * count * FRAME_SIZE)
    delivered = sent * count
    return delivered / (loop.time() - start), (time.process_time() - cpu) / delivered * 1e6


async def library(crowd: Audience, count: int) -> Figure:
    """Measure the library's broadcast."""
    connections: list[ServerConnection] = []

    async def handler(connection: ServerConnection) -> None:
        connections.append(connection)
        await connection.wait_closed()

    text = PAYLOAD.decode()

    def send() -> int:
        broadcast(connections, text)
        return 1

    def backlog() -> int:
        return max(each.transport.get_write_buffer_size() for each in connections)

    options: dict[str, Any] = {"compression": None, "ping_interval": None, "close_timeout": 0.1}
    async with serve(handler, "127.0.0.1", 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        await crowd.command("connect", port, count)
        figure = await measure(crowd, count, send, backlog)
        await crowd.command("close")
    return figure


async def ours(crowd: Audience, count: int, joined: int) -> Figure:
    """Measure our server with some messages joined per write."""
    transports: list[Transport] = []

    async def serve(transport: Transport, principal: Any) -> None:
        transports.append(transport)
        await transport.receive()

    def send() -> int:
        batch = tuple(Encoded(PAYLOAD) for _ in range(joined))
        for transport in transports:
            transport.write(batch)
        return joined

    def backlog() -> int:
        return max(transport.backlog for transport in transports)

    async with WebSocketServer(
        "127.0.0.1", 0, gate=lambda request: LOCAL_OWNER, serve=serve, close_grace=0.1
    ) as server:
        await crowd.command("connect", server.port, count)
        figure = await measure(crowd, count, send, backlog)
        await crowd.command("close")
    return figure


async def compare() -> None:
    files = allow_files()
    print(f"delivered messages per second, {len(PAYLOAD)} bytes each, loopback")
    columns = ["library", *(f"ours x{joined}" for joined in JOINED)]
    print(f"{'clients':>8}" + "".join(f"{name:>12} {'µs':>6}" for name in columns))
    async with audience() as crowd:
        for count in CLIENTS:
            if count + 50 > files:
                print(f"{count:>8} needs more open files than {files}")
                continue
            figures = [await library(crowd, count)]
            figures += [await ours(crowd, count, joined) for joined in JOINED]
            print(f"{count:>8}" + "".join(f"{rate:>12,.0f} {cpu:>6.2f}" for rate, cpu in figures))


def allow_files() -> int:
    """Raise the limit on open files as far as a thousand sockets need; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, min(hard, 4096) if hard != resource.RLIM_INFINITY else 4096)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def run() -> None:
    """Print the figures."""
    asyncio.run(compare())


# The client process.

UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def connect(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port))
    sock.sendall(UPGRADE)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(1)
    sock.setblocking(False)
    return sock


def serve_commands() -> None:
    """Hold sockets, count what they receive, and answer commands on stdin."""
    poll = select.epoll() if hasattr(select, "epoll") else select.poll()
    poll.register(0, select.POLLIN)
    sockets: dict[int, socket.socket] = {}
    buffer = bytearray(1 << 18)
    received, expected = 0, -1
    while True:
        for descriptor, _ in poll.poll():
            if descriptor:
                with contextlib.suppress(BlockingIOError):
                    received += sockets[descriptor].recv_into(buffer)
                continue
            match os.read(0, 1000).split():
                case [b"connect", port, count]:
                    for _ in range(int(count)):
                        sock = connect(int(port))
                        sockets[sock.fileno()] = sock
                        poll.register(sock, select.POLLIN)
                    received = 0
                    os.write(1, b"done\n")
                case [b"expect", size]:
                    expected = int(size)
                case [b"close"]:
                    for sock in sockets.values():
                        poll.unregister(sock)
                        sock.close()
                    sockets.clear()
                    os.write(1, b"done\n")
                case _:
                    return
        if received == expected:
            expected = -1
            os.write(1, b"done\n")


if __name__ == "__main__":
    serve_commands() if sys.argv[1:] == ["clients"] else run()
