"""The host's link to MCP servers: handles of servers and bridges, and a worker that runs them.

The worker is started with the first server and replaced when it dies. Everything here belongs to
one event loop, the host's.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from agenthost.mcp import relay
from agenthost.mcp.server_handle import STOP_PATIENCE, McpServerHandle
from agenthost.mcp.types import McpFailed, ServerDeclaration, ServerEvents
from agenthost.mcp.worker_process import GONE, WorkerProcess
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject


log = logging.getLogger(__name__)

# Seconds that servers get to end with the host, before their worker is to.
CLOSE_PATIENCE = 3.0

ListTools: TypeAlias = "Callable[[], Sequence[JsonObject]]"
CallTool: TypeAlias = "Callable[[str, JsonObject], Awaitable[JsonObject]]"


class McpWorker:
    """Runs MCP servers in a process beside the host."""

    def __init__(self) -> None:
        self._process: WorkerProcess | None = None
        self._starting = asyncio.Lock()
        self._closed = False
        self._numbers = itertools.count(1)
        self._servers: dict[int, McpServerHandle] = {}
        self._bridges: dict[int, McpBridge] = {}
        # What the worker's questions are answered by, and what follows the end of a worker.
        self._tasks = Tasks()
        self._answering: dict[int, asyncio.Task[None]] = {}
        # Where the sockets of bridges are, once there are any.
        self._folder: str | None = None

    @property
    def pid(self) -> int | None:
        """The worker's process, if there is one."""
        return None if self._process is None else self._process.pid

    def server(
        self,
        declaration: ServerDeclaration,
        *,
        folder: str | None,
        roots: Sequence[str],
        events: ServerEvents,
    ) -> McpServerHandle:
        """Return a handle of a declared server, which is not started by that.

        ``folder`` is where a command runs, ``roots`` are the URIs of the folders that it is told.
        """
        number = next(self._numbers)
        handle = McpServerHandle(self, number, declaration, folder, tuple(roots), events)
        self._servers[number] = handle
        return handle

    def forget(self, server: int) -> None:
        """Let go of a server that is stopped and will not be started again."""
        self._servers.pop(server, None)

    async def bridge(self, name: str, tools: ListTools, call: CallTool) -> McpBridge:
        """Open a local MCP server of that name, whose tools are listed and run here.

        Raises:
            McpFailed: the worker cannot be started.
        """
        number = next(self._numbers)
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="agenthost-mcp-")
        path = os.path.join(self._folder, str(number))
        bridge = McpBridge(self, number, name, path, tools, call)
        await self.ask(bridge.opening(), start=True)
        self._bridges[number] = bridge
        return bridge

    def forget_bridge(self, bridge: int) -> None:
        """Let go of a bridge that is closed."""
        self._bridges.pop(bridge, None)

    async def close(self) -> None:
        """Stop every server and end the worker; no process of any of them is left."""
        self._closed = True
        running = [server.stop() for server in self._servers.values() if server.state != "stopped"]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_PATIENCE):
                await asyncio.gather(*running, return_exceptions=True)
        async with self._starting:
            if self._process is not None:
                await self._process.close()
        await self._tasks.close()
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
            self._folder = None

    async def ask(
        self,
        command: JsonObject,
        *,
        start: bool = False,
        patience: float | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> JsonObject:
        """Send the worker a command and return its result; ``start`` starts one if there is none.

        A worker that does not answer for ``patience`` seconds is killed, with all servers.

        Raises:
            McpFailed: there is no worker, or no result.
        """
        if start:
            process = await self._started()
        else:
            # What was asked for before this, a start, is sent before it.
            async with self._starting:
                found = self._process
            if found is None:
                raise McpFailed("it is not running", "closed")
            process = found
        try:
            async with asyncio.timeout(patience):
                return await process.ask(command, progress)
        except TimeoutError:
            await process.kill()
            raise McpFailed(process.why, "timeout") from None

    def tell(self, command: JsonObject) -> None:
        """Send the worker something that has no result, if there is a worker.

        Raises:
            McpFailed: it cannot be sent.
        """
        try:
            if self._process is not None:
                self._process.tell(command)
        except McpFailed as error:
            if error.kind != "closed":
                raise

    async def _started(self) -> WorkerProcess:
        async with self._starting:
            if self._closed:
                raise McpFailed("this host is stopping", "closed")
            if self._process is not None and self._process.is_ending:
                await asyncio.wait({self._process.ended})
                self._process = None
            if self._process is None:
                process = await WorkerProcess.start(self._told)
                self._process = process
                process.ended.add_done_callback(lambda _: self._lost(process))
                await self._open_again(process)
            return self._process

    async def _open_again(self, process: WorkerProcess) -> None:
        """Open the bridges that went with the worker before this one."""
        for bridge in list(self._bridges.values()):
            try:
                await process.ask(bridge.opening())
            except McpFailed as error:
                log.warning("the tools of %s cannot be reached any more: %s", bridge.name, error)

    def _lost(self, process: WorkerProcess) -> None:
        """Tell everybody that the worker is gone; the next need starts another."""
        if self._process is process:
            self._process = None
        for task in self._answering.values():
            task.cancel()
        for server in list(self._servers.values()):
            server.worker_ended(process.why)

    def _told(self, message: JsonObject) -> None:
        """Pass on what the worker tells; a mistake of whoever gets it ends nothing here."""
        try:
            match message["event"]:
                case "question":
                    number = message["question"]
                    task = self._tasks.start(self._answer(message), f"MCP question {number}")
                    self._answering[number] = task
                    task.add_done_callback(lambda _: self._answering.pop(number, None))
                case "questionGone":
                    if (asked := self._answering.get(message["question"])) is not None:
                        asked.cancel()
                case _:
                    if (server := self._servers.get(message["server"])) is not None:
                        server.told(message)
        except Exception:
            log.exception("what an MCP server told could not be dealt with")

    async def _answer(self, message: JsonObject) -> None:
        reply: JsonObject = {"do": "answer", "question": message["question"]}
        try:
            result = await self._answered(message)
            self.tell({**reply, "result": result})
        except McpFailed as error:
            self._refuse(reply, error)
        except Exception:
            log.exception("an MCP server's question could not be answered")
            self._refuse(reply, McpFailed("this host could not answer", "refused"))

    def _refuse(self, reply: JsonObject, error: McpFailed) -> None:
        told = {"text": error.text, "kind": error.kind, "code": error.code, "data": None}
        self.tell({**reply, "error": told})

    async def _answered(self, message: JsonObject) -> JsonObject:
        if (number := message.get("bridge")) is not None:
            bridge = self._bridges.get(number)
            if bridge is None:
                raise McpFailed("these tools are not there any more", "closed")
            return await bridge.answer(message)
        server = self._servers.get(message["server"])
        if server is None:
            raise McpFailed(GONE, "closed")
        return await server.answer(message)


class McpBridge:
    """A local MCP server whose tools are the host's, for a program that starts MCP servers."""

    def __init__(
        self, worker: McpWorker, number: int, name: str, path: str, tools: ListTools, call: CallTool
    ) -> None:
        self._worker = worker
        self._number = number
        self.name = name
        self._path = path
        self._key = secrets.token_urlsafe(32)
        self._tools = tools
        self._call = call

    @property
    def command(self) -> tuple[str, ...]:
        """The program that stands for this server at whoever starts it."""
        return (sys.executable, "-I", "-S", str(Path(relay.__file__)))

    @property
    def env(self) -> dict[str, str]:
        """The variables that the program needs: where this server is, and its key."""
        return {"AGENTHOST_BRIDGE": self._path, "AGENTHOST_BRIDGE_KEY": self._key}

    def changed(self) -> None:
        """Tell whoever is connected that there are other tools now."""
        self._worker.tell({"do": "bridgeChanged", "id": 0, "bridge": self._number})

    async def close(self) -> None:
        """Let go of whoever is connected."""
        self._worker.forget_bridge(self._number)
        try:
            command = {"do": "bridgeClose", "bridge": self._number}
            await self._worker.ask(command, patience=STOP_PATIENCE)
        except McpFailed:
            # Gone with its worker.
            return

    def opening(self) -> JsonObject:
        """Return the command that opens it."""
        return {
            "do": "bridge",
            "bridge": self._number,
            "name": self.name,
            "path": self._path,
            "key": self._key,
        }

    async def answer(self, message: JsonObject) -> JsonObject:
        """Answer what a program asks that is connected."""
        if message["ask"] == "bridgeTools":
            return {"tools": list(self._tools())}
        return await self._call(message["tool"], message["arguments"])
