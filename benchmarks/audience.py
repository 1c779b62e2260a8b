"""A crowd of subscribers in a process of its own: raw sockets that read, count, and measure delay.

Driven over standard input and output by ``Crowd``; each client initializes, subscribes to one
chat, and then only looks for the end mark and for time stamps in what it receives.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import socket
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agenthost.protocol import NEWEST

__all__ = ["END", "Crowd", "crowd", "stamp"]

# What the last message of a measurement contains.
END = b"chat/turnComplete"
_STAMP = re.compile(rb"@(\d+)@")
_UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def stamp() -> str:
    """Return a mark from which a client can tell how long a text took to arrive."""
    return f"@{time.monotonic_ns()}@"


class Crowd:
    """The process that holds the clients, as its parent sees it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def ask(self, **command: Any) -> Any:
        """Send a command and wait for its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        return await self.answer()

    async def answer(self) -> Any:
        """Wait for the next answer; ``watch`` gives two, when it begins and when it ends."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the clients died")
        return json.loads(line)


@asynccontextmanager
async def crowd() -> AsyncIterator[Crowd]:
    """Run a crowd for the length of a block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, stdin=PIPE, stdout=PIPE, limit=1 << 24
    )
    try:
        yield Crowd(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def _frame(message: dict[str, Any]) -> bytes:
    payload = json.dumps({"jsonrpc": "2.0", **message}).encode()
    # A mask of zeros leaves the payload as it is.
    head = bytes((0x81, 0x80 | 126)) + len(payload).to_bytes(2, "big") + bytes(4)
    return head + payload


class _Client:
    def __init__(self, port: int, number: int, chat: str | None, version: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(_UPGRADE % port)
        self._read_until(b"\r\n\r\n")
        if chat is not None:
            root = {"channel": "ahp-root://"}
            hello = {"protocolVersions": [version], "clientId": f"crowd-{os.getpid()}-{number}"}
            self.socket.sendall(_frame({"id": 1, "method": "initialize", "params": root | hello}))
            self._read_until(b'"id":1')
            self.socket.sendall(
                _frame({"id": 2, "method": "subscribe", "params": {"channel": chat}})
            )
            self._read_until(b'"fromSeq"')
        self.socket.setblocking(False)
        self.tail = b""
        self.ended = False

    def _read_until(self, mark: bytes) -> None:
        seen = b""
        while mark not in seen:
            data = self.socket.recv(1 << 16)
            if not data:
                raise SystemExit(f"the host closed the connection: {seen[-300:]!r}")
            seen += data


class _Hall:
    """All clients of one measurement."""

    def __init__(self, port: int, count: int, chat: str | None, version: str = NEWEST) -> None:
        self.clients: dict[int, _Client] = {}
        self.poll = select.epoll()
        for number in range(count):
            client = _Client(port, number, chat, version)
            self.clients[client.socket.fileno()] = client
            self.poll.register(client.socket, select.EPOLLIN)

    def watch(self, *, delays: bool) -> dict[str, Any]:
        """Read until every client has seen the end; return bytes received and delays."""
        left, size = len(self.clients), 0
        found: list[int] = []
        for client in self.clients.values():
            client.ended = False
        while left:
            for descriptor, _ in self.poll.poll():
                client = self.clients[descriptor]
                data = client.socket.recv(1 << 18)
                if not data:
                    raise SystemExit("the host closed a connection")
                now = time.monotonic_ns()
                size += len(data)
                text = client.tail + data
                if delays:
                    found += [now - int(match) for match in _STAMP.findall(text)]
                    text = text[text.rfind(b"@") :] if _open_stamp(text) else b""
                if not client.ended and END in client.tail + data:
                    client.ended = True
                    left -= 1
                client.tail = text[-64:] if delays else data[-64:]
        return {"bytes": size, "delays": sorted(found)[:: max(1, len(found) // 10_000)]}

    def close(self) -> None:
        for client in self.clients.values():
            client.socket.close()
        self.poll.close()


def _open_stamp(text: bytes) -> bool:
    return text.count(b"@") % 2 == 1


def _serve() -> None:
    hall: _Hall | None = None
    for line in sys.stdin:
        command = json.loads(line)
        answer: Any = "done"
        match command.pop("do"):
            case "connect":
                hall = _Hall(**command)
            case "watch":
                assert hall is not None
                os.write(1, b'"watching"\n')
                answer = hall.watch(**command)
            case "close":
                assert hall is not None
                hall.close()
        os.write(1, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    _serve()
