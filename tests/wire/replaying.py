"""Plays a recorded client: its messages in its order, each when what it had waited for has come.

The script is made by `interop.vscode.record`, which says what its placeholders are. What the host
names is found again by the order in which it is named.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost

__all__ = ["Replay"]

Json = dict[str, Any]

PATIENCE = 60.0
NAMED = re.compile(r"(?:call|input)-[0-9a-f]{12}|ahp-(?:content|terminal):/[^\s\"]+")
PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
# The recorded ids are lifted out of the way of those that the test client counts itself.
LIFT = 1_000_000


class Replay:
    """One recorded client against one host, across crashes of the one and reloads of the other."""

    def __init__(self, host: ServedHost, version: str, workspace: Path) -> None:
        self._host = host
        self._version = version
        self._values: dict[str, Any] = {"${workspace}": str(workspace)}
        self._stack = AsyncExitStack()
        # Every connection, in order; the last one is open.
        self.clients: list[WireClient] = []
        # Request -> its answer, over all connections: the method, and what became of it.
        self.answers: list[tuple[str, asyncio.Future[Json]]] = []
        self._open: dict[int, asyncio.Future[Json]] = {}
        # How far the current connection's messages were looked at, and what they held.
        self._looked = 0
        self._events: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._known: set[str] = set()

    @property
    def client(self) -> WireClient:
        """The connection that is open."""
        return self.clients[-1]

    async def __aenter__(self) -> Replay:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def play(self, script: Iterable[str]) -> None:
        """Do everything that the lines of a script say."""
        for line in script:
            step = json.loads(line)
            await self._wait(step.get("after", {}))
            if "share" in step:
                self._values[step["share"]] = step["value"]
            elif "crash" in step:
                await self._host.kill()
                await self._host.start()
            elif "open" in step:
                await self._connect()
            else:
                await self._send(step["send"])
        await self._until(lambda: all(answer.done() for answer in self._open.values()))

    async def _connect(self) -> None:
        if self.clients:
            await self.client.close()
        opening = open_client(self._host.url, version=self._version)
        self.clients.append(await self._stack.enter_async_context(opening))
        self._open, self._looked, self._events = {}, 0, Counter()

    async def _wait(self, after: Json) -> None:
        """Wait for what had come when the recorded client went on."""
        for id in after.get("answers", ()):
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait([self._open[id + LIFT]])
        wanted = {self._filled(name): count for name, count in after.get("events", {}).items()}
        if wanted:
            await self._until(lambda: all(self._events[name] >= wanted[name] for name in wanted))

    async def _send(self, recorded: Json) -> None:
        if self._looked < len(self.client.received):
            self._look()
        message = self._prepared(recorded)
        if message.get("method") == "unsubscribe":
            self.client.states.pop(message["params"]["channel"], None)
        answer = await self.client.send_recorded(message)
        if answer is not None:
            self._open[message["id"]] = answer
            self.answers.append((message["method"], answer))

    def _prepared(self, recorded: Json) -> Json:
        message: Json = self._filled(recorded)
        if "id" in message:
            message["id"] += LIFT
        params = message.get("params", {})
        if message.get("method") in ("initialize", "reconnect"):
            self.client.client_id = params["clientId"]
        if message.get("method") == "initialize":
            offered = params["protocolVersions"]
            params["protocolVersions"] = offered[offered.index(self._version) :]
        if message.get("method") == "reconnect":
            self.client.inherit(self.clients[-2])
            params["lastSeenServerSeq"] = self.client.last_seen
        return message

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if not isinstance(value, str) or "${" not in value:
            return value
        if value in self._values:
            return self._values[value]
        return PLACEHOLDER.sub(lambda found: str(self._values.get(found[0], found[0])), value)

    async def _until(self, holds: Callable[[], bool]) -> None:
        def look() -> Json | None:
            self._look()
            return {} if holds() else None

        await self.client.until(look)

    def _look(self) -> None:
        """Count what has come, and learn what the host has named."""
        received = self.client.received
        for message in received[self._looked :]:
            for name in NAMED.findall(json.dumps(message)):
                self._learn(name)
            params = message.get("params") or {}
            type = (params.get("action") or {}).get("type")
            if type is not None and "rejectionReason" not in params:
                self._events[f"{params['channel']} {type}"] += 1
        self._looked = len(received)

    def _learn(self, name: str) -> None:
        if name in self._known:
            return
        self._known.add(name)
        kind = re.split(r"[-:]", name.removeprefix("ahp-"))[0]
        self._counts[kind] += 1
        self._values[f"${{{kind} {self._counts[kind]}}}"] = name
