"""A host that says exactly what a test tells it to, and a clock that moves when it is told to."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import orjson

from agenthost.client import Client, connect
from agenthost.client.state.signals import Signal
from agenthost.protocol import NEWEST
from agenthost.transport import Encoded, Transport, memory_pair

__all__ = ["CHAT", "PATIENCE", "ROOT", "SESSION", "ManualClock", "ScriptedHost", "Side", "snapshot"]

ROOT = "ahp-root://"
SESSION = "ahp-session:/s"
CHAT = "ahp-chat:/c"

# Seconds that anything here may take before the test is broken rather than slow.
PATIENCE = 60.0

Json = dict[str, Any]

STATES: dict[str, Json] = {
    ROOT: {"agents": []},
    SESSION: {
        "provider": "demo",
        "title": "First",
        "status": 1,
        "lifecycle": "ready",
        "activeClients": [],
        "chats": [],
        "defaultChat": CHAT,
    },
    CHAT: {
        "resource": CHAT,
        "title": "Chat",
        "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [],
    },
}


def snapshot(uri: str, seq: int, **changes: Any) -> Json:
    """Return a snapshot of one of the channels that the script knows."""
    return {"resource": uri, "state": {**STATES[uri], **changes}, "fromSeq": seq}


class ManualClock:
    """Time stands still until a test moves it."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        # Every sleep that was asked for, and a sign for each.
        self.asked: list[float] = []
        self.fell_asleep = Signal()

    def now(self) -> str:
        return "2026-01-01T00:00:00.000Z"

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        self.fell_asleep.send()
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + seconds, sleeper))
        await sleeper

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake those whose time has come."""
        self._now += seconds
        for due, sleeper in self._sleepers:
            if due <= self._now and not sleeper.done():
                sleeper.set_result(None)
        self._sleepers = [(due, s) for due, s in self._sleepers if not s.done()]


class Side:
    """The host's side of one link."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def next(self, method: str) -> Json:
        """Receive the next message, which must be of that method."""
        async with asyncio.timeout(PATIENCE):
            message: Json = orjson.loads(await self.transport.receive())
        assert message.get("method") == method, message
        return message

    async def reply(self) -> Json:
        """Receive the next message, which must be an answer."""
        async with asyncio.timeout(PATIENCE):
            message: Json = orjson.loads(await self.transport.receive())
        assert "method" not in message, message
        return message

    def send(self, message: Json) -> None:
        self.transport.write([Encoded(orjson.dumps({"jsonrpc": "2.0", **message}))])

    def answer(self, request: Json, result: Any) -> None:
        self.send({"id": request["id"], "result": result})

    def refuse(self, request: Json, code: int, message: str = "no", data: Any = None) -> None:
        error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        self.send({"id": request["id"], "error": error})

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": {"channel": ROOT, **params}})

    def action(
        self,
        uri: str,
        seq: int,
        action: Json,
        *,
        origin: tuple[str, int] | None = None,
        reason: str | None = None,
    ) -> None:
        self.send({"method": "action", "params": enveloped(uri, seq, action, origin, reason)})

    def echo(self, dispatched: Json, seq: int, client_id: str, reason: str | None = None) -> None:
        """Answer a dispatched action."""
        params = dispatched["params"]
        origin = (client_id, params["clientSeq"])
        self.action(params["channel"], seq, params["action"], origin=origin, reason=reason)

    async def initialize(
        self, *snapshots: Json, seq: int = 0, version: str = NEWEST, **more: Any
    ) -> Json:
        """Expect the opening of a new client, and welcome it."""
        request = await self.next("initialize")
        result = {"protocolVersion": version, "serverSeq": seq, "snapshots": list(snapshots)}
        self.answer(request, {**result, **more})
        params: Json = request["params"]
        return params

    async def subscribed(self, *snapshots: Json) -> list[Json]:
        """Expect subscriptions in this order, and answer each with its snapshot."""
        requests = []
        for each in snapshots:
            request = await self.next("subscribe")
            assert request["params"]["channel"] == each["resource"]
            self.answer(request, {"snapshot": each})
            requests.append(request["params"])
        return requests

    async def close(self, code: int = 1006, reason: str = "") -> None:
        await self.transport.close(code, reason)


def enveloped(
    uri: str,
    seq: int,
    action: Json,
    origin: tuple[str, int] | None = None,
    reason: str | None = None,
) -> Json:
    envelope: Json = {"channel": uri, "action": action, "serverSeq": seq}
    if origin is not None:
        envelope["origin"] = {"clientId": origin[0], "clientSeq": origin[1]}
    if reason is not None:
        envelope["rejectionReason"] = reason
    return envelope


class ScriptedHost:
    """Where clients dial; each connection is handed to the test."""

    def __init__(self) -> None:
        self._sides: asyncio.Queue[Side] = asyncio.Queue()
        self.dials = 0
        # What the next attempts to dial fail with.
        self.failures: deque[Exception] = deque()
        self.clock = ManualClock()

    async def dial(self) -> Transport:
        self.dials += 1
        if self.failures:
            raise self.failures.popleft()
        here, there = memory_pair()
        self._sides.put_nowait(Side(there))
        return here

    async def accept(self) -> Side:
        """Return the host's side of the next connection."""
        async with asyncio.timeout(PATIENCE):
            return await self._sides.get()

    def client(self, **options: Any) -> Client:
        """Return a client of this host that reconnects without delay."""
        options = {"client_id": "me", "clock": self.clock, "roll": lambda: 0.0, **options}
        return connect(self.dial, **options)

    async def welcome(
        self, client: Client, *, version: str = NEWEST, snapshots: Sequence[Json] | None = None
    ) -> Side:
        """Enter a client and shake hands with it."""
        entering = asyncio.create_task(client.__aenter__())
        side = await self.accept()
        given = [snapshot(ROOT, 1)] if snapshots is None else snapshots
        await side.initialize(*given, seq=1, version=version)
        await entering
        return side
