"""A local MCP server whose tools are the host's, for agents that take tools no other way.

It listens at a unix socket; an agent reaches it by `agenthost/mcp/relay.py`, which it starts as it
starts any other server.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.shared.message import SessionMessage
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from agenthost.line_splitting import CHUNK, LineSplitter, LineTooLong
from agenthost.mcp.limits import MOST_LINE
from agenthost.mcp.types import McpFailed
from agenthost.mcp.worker.host_pipe import HostPipe
from agenthost.protocol.common import JsonObject

# An agent opens one for each of its sessions.
_MOST_CONNECTIONS = 64
_KEY_PATIENCE = 5.0


class Bridge:
    """One local server: a name, and tools that the host lists and runs."""

    def __init__(self, host: HostPipe, command: JsonObject) -> None:
        self._host = host
        self._id: int = command["bridge"]
        self._path: str = command["path"]
        self._key: str = command["key"]
        self._name: str = command["name"]
        self._tasks: set[asyncio.Task[Any]] = set()
        self._connections: set[_Connection] = set()
        self._listening: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen from now on."""
        mask = os.umask(0o177)
        try:
            self._listening = await asyncio.start_unix_server(
                self._accepted, self._path, limit=CHUNK
            )
        finally:
            os.umask(mask)

    async def close(self) -> None:
        """Listen no more, and let go of whoever is connected."""
        if self._listening is not None:
            self._listening.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)

    async def changed(self) -> None:
        """Tell whoever is connected that there are other tools now."""
        for connection in list(self._connections):
            if connection.session is None:
                # Whoever did not ask for the tools yet will get the right ones.
                continue
            # Gone meanwhile, or not reading; the next list is right in any case.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(1):
                    await connection.session.send_tool_list_changed()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._tasks) < _MOST_CONNECTIONS and await self._knows_the_key(reader):
                self._tasks.add(task)
                await self._talk(reader, writer)
        except (Exception, asyncio.CancelledError):
            # Whatever went wrong was between the agent and its own relay.
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _knows_the_key(self, reader: asyncio.StreamReader) -> bool:
        async with asyncio.timeout(_KEY_PATIENCE):
            told = await reader.readline()
        return hmac.compare_digest(told.strip(), self._key.encode())

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        incoming, reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writes, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        connection = _Connection(self._host, self._id)
        server: Server[Any] = Server(
            self._name, on_list_tools=connection.list, on_call_tool=connection.call
        )
        options = server.create_initialization_options(
            notification_options=NotificationOptions(tools_changed=True)
        )
        self._connections.add(connection)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, reader, incoming)
                tasks.start_soon(_write, writer, outgoing)
                await server.run(reads, writes, options)
                tasks.cancel_scope.cancel()
        finally:
            self._connections.discard(connection)


class _Connection:
    """One program that is connected."""

    def __init__(self, host: HostPipe, bridge: int) -> None:
        self._host = host
        self._bridge = bridge
        # By which it is told of changes, once it asked for the tools.
        self.session: ServerSession | None = None

    async def list(self, context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the host's tools."""
        self.session = context.session
        told = await self._host.ask({"ask": "bridgeTools", "bridge": self._bridge})
        tools = []
        for tool in told["tools"]:
            # One that is none must not take the others with it.
            with contextlib.suppress(ValidationError):
                tools.append(Tool.model_validate(tool, by_name=False))
        return ListToolsResult(tools=tools)

    async def call(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        """Run one of the host's tools."""
        try:
            result = await self._host.ask(
                {
                    "ask": "bridgeCall",
                    "bridge": self._bridge,
                    "tool": params.name,
                    "arguments": params.arguments or {},
                }
            )
            return CallToolResult.model_validate(result, by_name=False)
        except (McpFailed, ValidationError, TypeError) as error:
            text = error.text if isinstance(error, McpFailed) else "the result is none"
            return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


async def _read(
    reader: asyncio.StreamReader, incoming: ObjectSendStream[SessionMessage | Exception]
) -> None:
    lines = LineSplitter(MOST_LINE)
    async with incoming:
        with contextlib.suppress(LineTooLong, OSError, ValueError):
            while data := await reader.read(CHUNK):
                for line in lines.feed(data):
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    await incoming.send(SessionMessage(message))


async def _write(
    writer: asyncio.StreamWriter, outgoing: ObjectReceiveStream[SessionMessage]
) -> None:
    async with outgoing:
        with contextlib.suppress(OSError):
            async for item in outgoing:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(text.encode() + b"\n")
                await writer.drain()
