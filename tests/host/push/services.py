"""A browser that subscribes, and a push service on this machine that takes messages for it.

The service is reached by a connector of the test's own: the host's would refuse this machine.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import http_ece  # type: ignore[import-untyped]
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

__all__ = ["Browser", "PushService", "Taken", "pushing"]

Json = dict[str, Any]
PATIENCE = 60.0


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Browser:
    """One browser's subscription, with the keys that only it has."""

    def __init__(self, endpoint: str = "https://push.example.org/send/abc?x=1") -> None:
        self.endpoint = endpoint
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._auth = os.urandom(16)

    @property
    def subscription(self) -> Json:
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        keys = {"p256dh": b64(point), "auth": b64(self._auth)}
        return {"endpoint": self.endpoint, "expirationTime": None, "keys": keys}

    def read(self, body: bytes) -> Json:
        """Decrypt a message, as the browser does."""
        clear = http_ece.decrypt(
            body, private_key=self._key, auth_secret=self._auth, version="aes128gcm"
        )
        message: Json = json.loads(clear)
        return message


@dataclass(frozen=True)
class Taken:
    """A request that the service received."""

    first_line: str
    headers: dict[str, str]
    body: bytes


class PushService:
    """Takes requests, one connection each, and answers as it was told to."""

    def __init__(self) -> None:
        # The bytes of the next answers; when there are none left, the last one again.
        self.answers: list[bytes] = [b"HTTP/1.1 201 Created\r\n\r\n"]
        # Does something else with a connection instead of answering.
        self.misbehave: Callable[[socket.socket], None] | None = None
        self.taken: list[Taken] = []
        # Host names and ports that were asked for.
        self.asked: list[tuple[str, int]] = []
        self._new = threading.Event()

    def connect(self, host: str, port: int, deadline: float) -> socket.socket:
        """Connect to this service whatever it is called."""
        self.asked.append((host, port))
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._serve, args=(theirs,), daemon=True).start()
        return ours

    async def until(self, count: int) -> list[Taken]:
        """Wait until so many requests have come."""
        async with asyncio.timeout(PATIENCE):
            while len(self.taken) < count:
                self._new.clear()
                if len(self.taken) < count:
                    await asyncio.to_thread(self._new.wait, 1.0)
        return self.taken[:count]

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            data = b""
            while b"\r\n\r\n" not in data:
                if not (piece := connection.recv(65536)):
                    # Its time was up before it had said anything.
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            while len(body) < int(headers["Content-Length"]):
                if not (piece := connection.recv(65536)):
                    return
                body += piece
            self.taken.append(Taken(first, headers, body))
            self._new.set()
            if self.misbehave is not None:
                self.misbehave(connection)
                return
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            connection.sendall(answer)


@contextmanager
def pushing() -> Iterator[PushService]:
    """Give a push service."""
    yield PushService()
