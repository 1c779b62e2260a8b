"""A model's server that speaks OpenAI's streaming chat completions over a real socket.

It answers request by request what a test has laid out, and keeps what it was asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson

__all__ = ["Drop", "Failure", "Hang", "ModelServer", "Say", "ToolUse", "model_server"]

Json = dict[str, Any]


@dataclass(frozen=True)
class ToolUse:
    """A tool call with its arguments as they are written, whole or not."""

    name: str
    arguments: str
    id: str = "call_1"


class Say:
    """An answer: pieces of text, then tool calls, all of them streamed."""

    def __init__(
        self,
        *pieces: str | ToolUse,
        tokens: tuple[int, int] = (10, 5),
        finish: str | None = None,
    ) -> None:
        self.pieces = pieces
        self.tokens = tokens
        tools = any(isinstance(piece, ToolUse) for piece in pieces)
        self.finish = finish or ("tool_calls" if tools else "stop")

    def deltas(self) -> Iterator[Json]:
        calls = [piece for piece in self.pieces if isinstance(piece, ToolUse)]
        yield {"role": "assistant", "content": ""}
        for piece in self.pieces:
            if isinstance(piece, str):
                yield {"content": piece}
        for index, call in enumerate(calls):
            function = {"name": call.name, "arguments": ""}
            yield _call(index, id=call.id, type="function", function=function)
        # Interleaved, as parallel calls may come.
        for half in (0, 1):
            for index, call in enumerate(calls):
                middle = len(call.arguments) // 2
                part = call.arguments[middle:] if half else call.arguments[:middle]
                yield _call(index, function={"arguments": part})


@dataclass(frozen=True)
class Failure:
    """An answer with an error status."""

    status: int
    body: Json
    headers: tuple[str, ...] = ("x-should-retry: false",)


@dataclass(frozen=True)
class Drop:
    """Some text, then the connection is cut."""

    text: str


@dataclass(frozen=True)
class Hang:
    """Some text, then nothing until the client goes away."""

    text: str


Reply = Say | Failure | Drop | Hang


class ModelServer:
    """What a test lays out, and what it was asked."""

    def __init__(self) -> None:
        self.base_url = ""
        self.replies: list[Reply] = []
        self.requests: list[Json] = []
        self.headers: list[str] = []
        # What is to be closed before it.
        self.closing: list[Callable[[], Awaitable[None]]] = []
        # Set when a client went away in the middle of an answer.
        self.abandoned = asyncio.Event()

    def will(self, *replies: Reply) -> None:
        """Lay out what the next requests are answered with."""
        self.replies += replies

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _head(reader):
                length = next(
                    int(line.split(":")[1])
                    for line in head.split("\r\n")
                    if line.lower().startswith("content-length:")
                )
                self.headers.append(head)
                self.requests.append(orjson.loads(await reader.readexactly(length)))
                if not await self._answer(self.replies.pop(0), reader, writer):
                    return
        finally:
            writer.close()

    async def _answer(
        self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; say whether the connection lives on."""
        if isinstance(reply, Failure):
            body = orjson.dumps(reply.body)
            lines = ["content-type: application/json", f"content-length: {len(body)}"]
            head = "\r\n".join([f"HTTP/1.1 {reply.status} Oops", *lines, *reply.headers])
            writer.write(head.encode() + b"\r\n\r\n" + body)
            await writer.drain()
            return True
        lines = ["content-type: text/event-stream", "transfer-encoding: chunked"]
        writer.write("\r\n".join(["HTTP/1.1 200 OK", *lines]).encode() + b"\r\n\r\n")
        if isinstance(reply, Say):
            for delta in reply.deltas():
                writer.write(_chunk(delta))
            writer.write(_chunk({}, finish=reply.finish))
            writer.write(_chunk(None, tokens=reply.tokens))
            writer.write(_framed(b"data: [DONE]\n\n") + b"0\r\n\r\n")
            await writer.drain()
            return True
        writer.write(_chunk({"role": "assistant", "content": reply.text}))
        await writer.drain()
        if isinstance(reply, Hang):
            await reader.read()
            self.abandoned.set()
        return False


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""


def _call(index: int, **fields: Any) -> Json:
    return {"tool_calls": [{"index": index, **fields}]}


def _chunk(
    delta: Json | None, *, finish: str | None = None, tokens: tuple[int, int] | None = None
) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk: Json = {"id": "chunk", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
    chunk["choices"] = choices
    if tokens is not None:
        sent, got = tokens
        chunk["usage"] = {
            "prompt_tokens": sent,
            "completion_tokens": got,
            "total_tokens": sent + got,
            "prompt_tokens_details": {"cached_tokens": 4},
        }
    return _framed(b"data: " + orjson.dumps(chunk) + b"\n\n")


def _framed(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """Run a model's server for the length of a test."""
    server = ModelServer()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    server.base_url = f"http://127.0.0.1:{port}/v1"
    async with listening:
        yield server
        for close in server.closing:
            await close()
