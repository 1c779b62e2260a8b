"""``python -m soak.attackers``: hostile clients, in a process of their own so that they disturb
nobody but the host.

Each attack is a function that goes on until it is cancelled. They speak WebSocket by hand, to do
what no library would: never read, never finish, send only control frames. What was done of that is
counted and printed, a first time when there is anything and then at the end: an attack that the
host shut out at once proves nothing.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import re
import resource
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agenthost.protocol import SUPPORTED_VERSIONS

__all__ = ["ATTACKS", "Target", "main"]

TEXT, PING = 0x81, 0x89
ROOT = "ahp-root://"
# What clients do that come back: so many, and the latest changes of which each has missed others.
HERD, LEAST_MISSED, MOST_MISSED = 500, 10, 60
# Bytes of the beginning and the end of a message: all that anybody here looks at.
BEGINNING, ENDING = 64 * 1024, 1024

# What this process has done, of what makes its attack one.
done: Counter[str] = Counter()


@dataclass(frozen=True)
class Target:
    """Whom to attack, and with what."""

    port: int
    # Of a viewer, of an operator, and of the owner: not every load is an attack.
    viewer: str
    operator: str
    owner: str
    # A chat of many megabytes, whose latest changes are as many of 100 KB as a client may miss.
    chat: str
    # Where the operator may work.
    folder: str


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
    return message(id=id, method=method, params={"channel": ROOT, **params})


def message(**members: Any) -> bytes:
    """Return a JSON-RPC message as a frame."""
    return frame(json.dumps({"jsonrpc": "2.0", **members}).encode())


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


async def read_message(sock: socket.socket, scratch: bytearray) -> bytes:
    """Read a message and return how it begins and ends; one that is cut off raises OSError."""
    loop = asyncio.get_running_loop()

    async def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = await loop.sock_recv(sock, count - len(data))
            if not piece:
                raise ConnectionError("closed within a message")
            data += piece
        return data

    size = (await exactly(2))[1]
    if size > 125:
        size = int.from_bytes(await exactly(2 if size == 126 else 8), "big")
    begins = await exactly(min(size, BEGINNING))
    left = size - len(begins)
    while left > ENDING:
        taken = await loop.sock_recv_into(sock, memoryview(scratch)[: left - ENDING])
        if not taken:
            raise ConnectionError("closed within a message")
        left -= taken
    return begins + await exactly(left)


async def ask(sock: socket.socket, scratch: bytearray, id: int, request: bytes) -> bytes:
    """Send a request and return how its answer begins and ends; a refusal raises ValueError.

    So does the refusal of an action that was dispatched before.
    """
    await asyncio.get_running_loop().sock_sendall(sock, request)
    while True:
        answer = await read_message(sock, scratch)
        if b'"rejectionReason":' in answer[-ENDING:]:
            raise ValueError(answer[-ENDING:].decode(errors="replace"))
        if answer.startswith(b'{"jsonrpc":"2.0","id":%d,' % id):
            if b'"error":' in answer[:40]:
                raise ValueError(answer[:500].decode(errors="replace"))
            return answer


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
                done["pings"] += 500

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
                done["subscriptions"] += 1
                await asyncio.sleep(0.05)

    await again_and_again(100, attack)


async def reconnect_all_at_once(target: Target) -> None:
    """Five hundred clients come back at the same moment and read everything: no attack at all.

    They have seen nothing, so that all get the same snapshot, which they share.
    """
    await _reconnect_all(target, lambda number, seq: 0)


async def replay_all_at_once(target: Target) -> None:
    """The same, where each missed megabytes, others each: replays, which nobody shares."""
    most = MOST_MISSED - LEAST_MISSED
    await _reconnect_all(target, lambda number, seq: seq - LEAST_MISSED - number % most)


async def _reconnect_all(target: Target, last_seen: Callable[[int, int], int]) -> None:
    """Reconnect with what ``last_seen`` says of a client's number and the host's newest one."""
    loop = asyncio.get_running_loop()
    scratch = bytearray(256 * 1024)
    together = asyncio.Barrier(HERD)

    async def client(number: int) -> None:
        name = f"herd {number}"
        with contextlib.closing(await upgrade(target, target.owner)) as sock:
            greeting = await ask(sock, scratch, 1, opener(name))
        found = re.search(rb'"serverSeq":(\d+)', greeting)
        assert found is not None, greeting[:500]
        resume = {"clientId": name, "lastSeenServerSeq": last_seen(number, int(found[1]))}
        await together.wait()
        with contextlib.closing(await upgrade(target, target.owner)) as sock:
            request = call(1, "reconnect", **resume, subscriptions=[target.chat])
            answer = await ask(sock, scratch, 1, request)
            done["replays" if b'"type":"replay"' in answer[:200] else "snapshots"] += 1
            while await loop.sock_recv_into(sock, scratch):
                pass

    async with asyncio.TaskGroup() as group:
        for number in range(HERD):
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
                done["before the handshake"] += 1
            return
        with contextlib.closing(await upgrade(target, target.owner)) as sock:
            await loop.sock_sendall(sock, opener(f"huge {number}"))
            while await loop.sock_recv(sock, 65536):
                await loop.sock_sendall(sock, brackets)
                done["after it"] += 1

    await again_and_again(4, attack)


async def send_half_frames(target: Target) -> None:
    """Begin messages as large as a viewer's may be and never end them, on all its seats."""
    await _send_half_frames(target, target.viewer, 128_000, 300)


async def send_large_half_frames(target: Target) -> None:
    """Begin messages as large as an operator's may be, more than a gigabyte in all."""
    await _send_half_frames(target, target.operator, 16_000_000, 100)


async def _send_half_frames(target: Target, token: str, size: int, count: int) -> None:
    loop = asyncio.get_running_loop()
    scratch = bytearray(64 * 1024)
    half = frame(b"x" * size)[:-1]

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, token)) as sock:
            await ask(sock, scratch, 1, opener(f"half {number}"))
            await loop.sock_sendall(sock, half)
            done["begun"] += 1
            while await loop.sock_recv(sock, 65536):
                pass
            done["ended by the host"] += 1

    await again_and_again(count, attack)


async def write_large_files(target: Target) -> None:
    """Write files of ten megabytes, one after the other, as an operator who may."""
    scratch = bytearray(64 * 1024)
    data = base64.b64encode(os.urandom(10_000_000)).decode()
    write = {"uri": f"{target.folder}/large", "data": data, "encoding": "base64"}
    request = call(9, "resourceWrite", **write)

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, target.operator)) as sock:
            await _own_chat(sock, scratch, target.folder)
            while True:
                await ask(sock, scratch, 9, request)
                done["written"] += 1

    await again_and_again(1, attack)


async def send_large_drafts(target: Target) -> None:
    """Put drafts of ten megabytes into a chat, one after the other, as an operator who may.

    Each takes the place of the one before, or the host would grow by what it is to keep.
    """
    loop = asyncio.get_running_loop()
    scratch = bytearray(64 * 1024)
    draft = {"text": "ten bytes " * 1_000_000, "origin": {"kind": "user"}}

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, target.operator)) as sock:
            chat = await _own_chat(sock, scratch, target.folder)
            # Who writes a draft sees it, and is told of it.
            await ask(sock, scratch, 8, call(8, "subscribe", channel=chat))
            action = {"type": "chat/draftChanged", "draft": draft}
            for seq in itertools.count(1):
                params = {"channel": chat, "clientSeq": seq, "action": action}
                await loop.sock_sendall(sock, message(method="dispatchAction", params=params))
                # The answer comes behind all that the host has to say of the draft.
                await ask(sock, scratch, 9, call(9, "ping"))
                done["accepted"] += 1

    await again_and_again(1, attack)


async def _own_chat(sock: socket.socket, scratch: bytearray, folder: str) -> str:
    """Greet the host, make a session in a folder and return the URI of its chat."""
    session = f"ahp-session:/large-{os.urandom(4).hex()}"
    await ask(sock, scratch, 1, opener("large"))
    make = call(2, "createSession", channel=session, workingDirectories=[folder])
    await ask(sock, scratch, 2, make)
    for id in range(3, 1000):
        answer = await ask(sock, scratch, id, call(id, "subscribe", channel=session))
        found = re.search(rb'"defaultChat":"([^"]+)"', answer)
        if found is not None and b'"lifecycle":"ready"' in answer:
            return found[1].decode()
        await asyncio.sleep(0.05)
    raise ConnectionError("the session did not get ready")


async def flood_with_messages(target: Target) -> None:
    """Send small requests as fast as they are taken, on as many connections as possible."""
    loop = asyncio.get_running_loop()

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, target.viewer)) as sock:
            await loop.sock_sendall(sock, opener(f"flood {number}"))
            requests = b"".join(call(id, "listSessions") for id in range(2, 100))
            while True:
                await loop.sock_sendall(sock, requests)
                done["requests"] += 98
                await asyncio.sleep(0)

    await again_and_again(300, attack)


async def stay_silent(target: Target) -> None:
    """Open two thousand sockets that say nothing, again when they are closed."""

    async def attack(number: int) -> None:
        with contextlib.closing(await connect(target)) as sock:
            done["sockets"] += 1
            await asyncio.get_running_loop().sock_recv(sock, 1)

    await again_and_again(2000, attack)


async def take_all_seats(target: Target) -> None:
    """Open two thousand WebSockets with one viewer's token."""

    async def attack(number: int) -> None:
        with contextlib.closing(await upgrade(target, target.viewer)) as sock:
            await asyncio.get_running_loop().sock_sendall(sock, opener(f"seat {number}"))
            done["connections"] += 1
            while await asyncio.get_running_loop().sock_recv(sock, 65536):
                pass

    await again_and_again(2000, attack)


async def do_nothing(target: Target) -> None:
    """Leave the host alone: what a quiet machine measures."""
    done["wait"] += 1
    await asyncio.Event().wait()


ATTACKS: dict[str, Attack] = {
    "nothing": do_nothing,
    "pings, never reading": ping_and_never_read,
    "20 MB snapshots, never reading": subscribe_and_never_read,
    "500 reconnects at once": reconnect_all_at_once,
    "500 replays at once": replay_all_at_once,
    "huge frames": send_huge_frames,
    "half frames": send_half_frames,
    "half frames of an operator": send_large_half_frames,
    "10 MB files, accepted": write_large_files,
    "10 MB drafts, accepted": send_large_drafts,
    "flood of requests": flood_with_messages,
    "2,000 silent sockets": stay_silent,
    "2,000 connections of a viewer": take_all_seats,
}


def main() -> None:
    """Attack as told by the arguments until standard input ends."""
    name, target = sys.argv[1], Target(**json.loads(sys.argv[2]))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 10_000), most))
    try:
        asyncio.run(_until_told(ATTACKS[name](target)))
    finally:
        print(json.dumps(done), flush=True)


async def _until_told(attack: Awaitable[None]) -> None:
    task, telling = asyncio.ensure_future(attack), asyncio.create_task(_tell_of_the_first())
    await asyncio.to_thread(sys.stdin.read)
    telling.cancel()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _tell_of_the_first() -> None:
    while not done:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
