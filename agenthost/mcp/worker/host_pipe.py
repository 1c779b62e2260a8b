"""The worker's end of the pipes to the host: commands in, replies, events and questions out."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator

import orjson

from agenthost.line_splitting import CHUNK, LineSplitter
from agenthost.mcp.limits import MOST_WORKER_LINE
from agenthost.mcp.lines import encoded
from agenthost.mcp.types import McpFailed
from agenthost.protocol.common import JsonObject


class HostPipe:
    """Moves messages between this process and the host."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        # Questions to the host that are not answered yet.
        self._asked: dict[int, asyncio.Future[JsonObject]] = {}

    @classmethod
    async def open(cls) -> HostPipe:
        """Take over standard input and output; whoever prints from now on prints to nowhere."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=CHUNK)
        commands, messages = os.dup(0), os.dup(1)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(commands, "rb", buffering=0)
        )
        # Only for its flow control: nothing is read from an output.
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(
            lambda: protocol, os.fdopen(messages, "wb", buffering=0)
        )
        return cls(reader, asyncio.StreamWriter(transport, protocol, None, loop))

    async def commands(self) -> AsyncIterator[JsonObject]:
        """Yield what the host wants until it is gone; answers to questions are dealt with here."""
        lines = LineSplitter(MOST_WORKER_LINE)
        while data := await self._reader.read(CHUNK):
            for line in lines.feed(data):
                command = orjson.loads(line)
                if command["do"] == "answer":
                    self._answered(command)
                else:
                    yield command

    def _answered(self, command: JsonObject) -> None:
        waiting = self._asked.pop(command["question"], None)
        if waiting is None or waiting.done():
            return
        if (error := command.get("error")) is not None:
            waiting.set_exception(
                McpFailed(error["text"], error["kind"], code=error["code"], data=error["data"])
            )
        else:
            waiting.set_result(command["result"])

    async def send(self, message: JsonObject) -> None:
        """Send a message, once the host has read enough of those before it.

        Raises:
            TypeError: it holds something that JSON cannot carry.
        """
        self._writer.write(encoded(message))
        await self._drain()

    def send_soon(self, message: JsonObject) -> None:
        """Send a small message that nobody waits for."""
        self._writer.write(encoded(message))

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            # The host is gone; the end of the commands tells of it.
            return

    async def ask(self, message: JsonObject) -> JsonObject:
        """Ask the host something and return its answer; cancelled, the question is taken back.

        Raises:
            McpFailed: the host says no.
        """
        number = next(self._numbers)
        waiting: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._asked[number] = waiting
        answered = False
        try:
            await self.send({**message, "event": "question", "question": number})
            result = await waiting
            answered = True
            return result
        except McpFailed:
            answered = True
            raise
        finally:
            self._asked.pop(number, None)
            if not answered:
                self.send_soon({"event": "questionGone", "question": number})
