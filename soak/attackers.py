"""``python -m soak.attackers``: hostile clients, in a process of their own so that they disturb
nobody but the host.

Each attack is a function that goes on until it is cancelled. They speak WebSocket by hand, to do
what no library would: never read, never finish, send only control frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agenthost.protocol import SUPPORTED_VERSIONS

__all__ = ["ATTACKS", "Target", "main"]

TEXT, PING = 0x81, 0x89
ROOT = "ahp-root://"


@dataclass(frozen=True)
class Target:
    """Whom to attack, and with what."""

    port: int
    # Of a viewer, and of the owner: not every load is an attack.
    viewer: str
    owner: str
    # A chat of many megabytes.
    chat: str


Attack = Callable[[Target], Awaitable[None]]


def frame(data: bytes, opcode: int = TEXT) -> bytes:
    """Return a client's frame; a mask of zeros leaves the data as it is."""
    size = len(data)
    if size < 126:
        head = bytes((opcode, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((opcode, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((opcode, 0x80 | 127)) + size.to_bytes(8, "big")
    return head + bytes(4) + data


def call(id: int, method: str, **params: Any) -> bytes:
    """Return a request as a frame."""
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"channel": ROOT, **params}}
    return frame(json.dumps(message).encode())


def opener(name: str, *subscriptions: str) -> bytes:
    """Return an ``initialize`` as a frame."""
    offer = {"protocolVersions": [SUPPORTED_VERSIONS[0]], "clientId": name}
    return call(1, "initialize", **offer, initialSubscriptions=list(subscriptions))


async def connect(target: Target) -> socket.socket:
    """Open a socket to the host."""
    sock = socket.socket()
    sock.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", target.port))
    except BaseException:
        sock.close()
        raise
    return sock


async def upgrade(target: Target, token: str) -> socket.socket:
    """Open a WebSocket; a refusal raises ConnectionError."""
    loop, sock = asyncio.get_running_loop(), await connect(target)
    try:
        await loop.sock_sendall(
            sock,
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            b"Authorization: Bearer " + token.encode() + b"\r\n\r\n",
        )
        head = b""
        while b"\r\n\r\n" not in head:
            data = await loop.sock_recv(sock, 4096)
            if not data:
                raise ConnectionError("closed during the handshake")
            head += data
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.split(b"\r\n")[0].decode())
    except BaseException:
        sock.close()
        raise
    return sock


async def again_and_again(count: int, attack: Callable[[int], Awaitable[None]]) -> None:
    """Run so many copies of an attack, each anew when the host ends it."""

    async def one(number: int) -> None:
        while True:
            with contextlib.suppress(OSError):
                await attack(number)
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(one(number))


async def ping_and_never_read(target: Target) -> None:
    """Send pings as fast as they are taken, and never read an answer."""
    pings = frame(b"x" * 125, PING) * 500

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, target.viewer)) as sock:
            while True:
                await asyncio.get_running_loop().sock_sendall(sock, pings)

    await again_and_again(20, attack)


async def subscribe_and_never_read(target: Target) -> None:
    """Ask for a large chat, over and over, and never read an answer."""

    async def attack(number: int) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.closing(await upgrade(target, target.viewer)) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await loop.sock_sendall(sock, opener(f"unread {number}", target.chat))
            for id in range(2, 1000):
                await loop.sock_sendall(sock, call(id, "subscribe", channel=target.chat))
                await asyncio.sleep(0.05)

    await again_and_again(100, attack)


async def reconnect_all_at_once(target: Target) -> None:
    """Five hundred clients come back at the same moment and read everything: no attack at all."""
    loop = asyncio.get_running_loop()
    scratch = bytearray(256 * 1024)
    together = asyncio.Barrier(500)

    async def client(number: int) -> None:
        name = f"herd {number}"
        with contextlib.closing(await upgrade(target, target.owner)) as sock:
            await loop.sock_sendall(sock, opener(name))
            await loop.sock_recv(sock, 65536)
        await together.wait()
        resume = {"clientId": name, "lastSeenServerSeq": 0, "subscriptions": [target.chat]}
        with contextlib.closing(await upgrade(target, target.owner)) as sock:
            await loop.sock_sendall(sock, call(1, "reconnect", **resume))
            while await loop.sock_recv_into(sock, scratch):
                pass

    async with asyncio.TaskGroup() as group:
        for number in range(500):
            group.create_task(client(number))


async def send_huge_frames(target: Target) -> None:
    """Send what takes long to parse: before the handshake as a viewer, after it as the owner."""
    loop = asyncio.get_running_loop()
    versions = call(1, "initialize", clientId="many", protocolVersions=["9.9.9"] * 900_000)
    brackets = frame(b"[" + b"[]," * 5_000_000 + b"[]]")

    async def attack(number: int) -> None:
        if number % 2:
            with contextlib.closing(await upgrade(target, target.viewer)) as sock:
                await loop.sock_sendall(sock, versions)
                await loop.sock_recv(sock, 65536)
            return
        with contextlib.closing(await upgrade(target, target.owner)) as sock:
            await loop.sock_sendall(sock, opener(f"huge {number}"))
            while await loop.sock_recv(sock, 65536):
                await loop.sock_sendall(sock, brackets)

    await again_and_again(4, attack)


async def send_half_frames(target: Target) -> None:
    """Begin messages as large as allowed and never end them, on as many connections as possible."""
    loop = asyncio.get_running_loop()
    half = frame(b"x" * 16_000_000)[:-1]

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, target.viewer)) as sock:
            await loop.sock_sendall(sock, opener(f"half {number}"))
            await loop.sock_recv(sock, 65536)
            await loop.sock_sendall(sock, half)
            while await loop.sock_recv(sock, 65536):
                pass

    await again_and_again(300, attack)


async def flood_with_messages(target: Target) -> None:
    """Send small requests as fast as they are taken, on as many connections as possible."""
    loop = asyncio.get_running_loop()

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, target.viewer)) as sock:
            await loop.sock_sendall(sock, opener(f"flood {number}"))
            requests = b"".join(call(id, "listSessions") for id in range(2, 100))
            while True:
                await loop.sock_sendall(sock, requests)
                await asyncio.sleep(0)

    await again_and_again(300, attack)


async def stay_silent(target: Target) -> None:
    """Open two thousand sockets that say nothing, again when they are closed."""

    async def attack(number: int) -> None:
        with contextlib.closing(await connect(target)) as sock:
            await asyncio.get_running_loop().sock_recv(sock, 1)

    await again_and_again(2000, attack)


async def take_all_seats(target: Target) -> None:
    """Open two thousand WebSockets with one viewer's token."""

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, target.viewer)) as sock:
            await asyncio.get_running_loop().sock_sendall(sock, opener(f"seat {number}"))
            while await asyncio.get_running_loop().sock_recv(sock, 65536):
                pass

    await again_and_again(2000, attack)


async def do_nothing(target: Target) -> None:
    """Leave the host alone: what a quiet machine measures."""
    await asyncio.Event().wait()


ATTACKS: dict[str, Attack] = {
    "nothing": do_nothing,
    "pings, never reading": ping_and_never_read,
    "10 MB snapshots, never reading": subscribe_and_never_read,
    "500 reconnects at once": reconnect_all_at_once,
    "huge frames": send_huge_frames,
    "half frames": send_half_frames,
    "flood of requests": flood_with_messages,
    "2,000 silent sockets": stay_silent,
    "2,000 connections of a viewer": take_all_seats,
}


def main() -> None:
    """Attack as told by the arguments until standard input ends."""
    name, target = sys.argv[1], Target(**json.loads(sys.argv[2]))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 10_000), most))
    asyncio.run(_until_told(ATTACKS[name](target)))


async def _until_told(attack: Awaitable[None]) -> None:
    task = asyncio.ensure_future(attack)
    await asyncio.to_thread(sys.stdin.read)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


if __name__ == "__main__":
    main()
