"""The worker's loop: takes the host's commands until the host is gone, then ends everything."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn

from agenthost.mcp.process_marks import below, kill_all
from agenthost.mcp.types import McpFailed
from agenthost.mcp.worker import reaping
from agenthost.mcp.worker.bridge import Bridge
from agenthost.mcp.worker.failures import failure
from agenthost.mcp.worker.host_pipe import HostPipe
from agenthost.mcp.worker.server_calls import call_tool, send_request
from agenthost.mcp.worker.server_run import ServerRun
from agenthost.protocol.common import JsonObject


def main() -> None:
    """Work for the host at the other end of standard input and output."""
    # The package logs what servers send; what matters of it is told to the host.
    logging.disable(logging.CRITICAL)
    reaping.adopt_orphans()
    try:
        asyncio.run(_work(sys.argv[1]))
    finally:
        _end_everything()


async def _work(worker_id: str) -> None:
    reaping.reap_when_children_end()
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    host = await HostPipe.open()
    worker = _Worker(host, worker_id)
    with contextlib.suppress(asyncio.CancelledError):
        async for command in host.commands():
            worker.take(command)
    _end_everything()


def _end_everything() -> NoReturn:
    """Kill every process below this one and end, at once: nobody is left to say good-bye to."""
    # All that can be done where nobody tells whose child a process is.
    for leader in reaping.owned:
        with contextlib.suppress(OSError):
            os.killpg(leader, signal.SIGKILL)
    ended = kill_all(lambda: below(os.getpid(), itself=False), reap=reaping.reap_orphans)
    os._exit(0 if ended else 1)


class _Worker:
    """Carries out commands, each in a task of its own."""

    def __init__(self, host: HostPipe, worker_id: str) -> None:
        self._host = host
        self._id = worker_id
        self._runs: dict[int, ServerRun] = {}
        # One start or stop of a server at a time.
        self._changing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._bridges: dict[int, Bridge] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._started = 0
        self._doing: dict[str, Callable[[JsonObject], Awaitable[JsonObject]]] = {
            "start": self._start,
            "stop": self._stop,
            "call": self._call,
            "request": self._request,
            "bridge": self._bridge,
            "bridgeClose": self._bridge_close,
            "bridgeChanged": self._bridge_changed,
        }

    def take(self, command: JsonObject) -> None:
        """Carry out a command, and answer once that is done."""
        match command["do"]:
            case "cancel":
                if (task := self._tasks.get(command["id"])) is not None:
                    task.cancel()
            case "token":
                if (run := self._runs.get(command["server"])) is not None:
                    run.give_token(command["token"])
            case what:
                task = self._in_background(self._answered(self._doing[what], command))
                self._tasks[command["id"]] = task
                task.add_done_callback(lambda _: self._tasks.pop(command["id"], None))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _answered(
        self, do: Callable[[JsonObject], Awaitable[JsonObject]], command: JsonObject
    ) -> None:
        reply: JsonObject = {"event": "reply", "id": command["id"]}
        try:
            reply["result"] = await do(command)
        except Exception as error:
            told = failure(error)
            reply["error"] = {
                "text": told.text, "kind": told.kind, "code": told.code, "data": told.data,
            }  # fmt: skip
        try:
            await self._host.send(reply)
        except TypeError:
            # What a server's own error holds may be anything.
            reply["error"]["data"] = None
            await self._host.send(reply)

    def _run(self, command: JsonObject) -> ServerRun:
        run = self._runs.get(command["server"])
        if run is None:
            raise McpFailed("it is not running", "closed")
        return run

    async def _start(self, command: JsonObject) -> JsonObject:
        server = command["server"]
        async with self._changing[server]:
            if (before := self._runs.get(server)) is not None:
                await before.stop()
            self._started += 1
            run = ServerRun(self._host, command, f"{self._id}.{server}.{self._started}")
            self._runs[server] = run
            self._in_background(run.run())
        await run.settled.wait()
        return {"state": run.outcome.state}

    async def _stop(self, command: JsonObject) -> JsonObject:
        server = command["server"]
        async with self._changing[server]:
            if (run := self._runs.pop(server, None)) is not None:
                await run.stop()
        return {}

    async def _call(self, command: JsonObject) -> JsonObject:
        return await call_tool(self._run(command), self._host, command)

    async def _request(self, command: JsonObject) -> JsonObject:
        return await send_request(self._run(command), command)

    async def _bridge(self, command: JsonObject) -> JsonObject:
        bridge = Bridge(self._host, command)
        await bridge.open()
        self._bridges[command["bridge"]] = bridge
        return {}

    async def _bridge_close(self, command: JsonObject) -> JsonObject:
        if (bridge := self._bridges.pop(command["bridge"], None)) is not None:
            await bridge.close()
        return {}

    async def _bridge_changed(self, command: JsonObject) -> JsonObject:
        if (bridge := self._bridges.get(command["bridge"])) is not None:
            await bridge.changed()
        return {}
