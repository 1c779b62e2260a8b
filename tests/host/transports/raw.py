"""A client that speaks HTTP and WebSocket by hand, to say what no library would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from websockets.exceptions import ProtocolError
from websockets.frames import Close, Frame, Opcode

__all__ = ["FakeSocket", "Raw", "Response", "frame", "open_raw", "upgrade_head"]

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def upgrade_head(target: str = "/", **headers: str) -> bytes:
    """Return a valid request to upgrade, with headers replaced or added."""
    fields = {
        "Host": "localhost",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Version": "13",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join((*lines, "", "")).encode()


def frame(
    data: bytes, opcode: Opcode = Opcode.TEXT, *, fin: bool = True, mask: bool = True
) -> bytes:
    """Return a frame as a client sends it."""
    return Frame(opcode, data, fin).serialize(mask=mask)


@dataclass
class Response:
    """A parsed HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Raw:
    """A socket to the server under test."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    # Frames' payloads seen on the way to another.
    seen: list[Frame] = field(default_factory=list)

    def send(self, *data: bytes) -> None:
        self.writer.write(b"".join(data))

    async def response(self) -> Response:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = head.rstrip("\r\n").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        code = int(status.split()[1])
        body = b"" if code == 101 else await self.reader.read()
        return Response(code, headers, body)

    async def upgrade(self, target: str = "/", **headers: str) -> None:
        self.send(upgrade_head(target, **headers))
        response = await self.response()
        assert response.status == 101, response

    async def frame(self) -> Frame:
        first, second = await self.reader.readexactly(2)
        size = second & 0x7F
        if size == 126:
            size = int.from_bytes(await self.reader.readexactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await self.reader.readexactly(8), "big")
        if second & 0x80:
            raise ProtocolError("a server must not mask")
        return Frame(Opcode(first & 0x0F), await self.reader.readexactly(size), bool(first & 0x80))

    async def close_frame(self) -> Close:
        """Skip to the close frame and return what it says."""
        while (received := await self.frame()).opcode is not Opcode.CLOSE:
            self.seen.append(received)
        return Close.parse(bytes(received.data))


@asynccontextmanager
async def open_raw(
    port: int, host: str = "127.0.0.1", *, source: str | None = None
) -> AsyncIterator[Raw]:
    """Connect, if told so from another of this machine's addresses."""
    local = None if source is None else (source, 0)
    reader, writer = await asyncio.open_connection(host, port, local_addr=local)
    try:
        yield Raw(reader, writer)
    finally:
        writer.transport.abort()
        try:
            await writer.wait_closed()
        except OSError:
            # The server may well have reset the connection; that is no failure of the client.
            return


class FakeSocket(asyncio.Transport):
    """An asyncio transport that keeps what is written and never loses it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 4711)})
        self.writes: list[bytes] = []
        self.half_closed = False
        self.aborted = False
        self._reading = True
        self.protocol: asyncio.BaseProtocol | None = None

    @property
    def written(self) -> bytes:
        return b"".join(self.writes)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.half_closed, "written after the end of the stream"
        self.writes.append(bytes(data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.half_closed = True

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True

    def is_reading(self) -> bool:
        return self._reading
