"""A host whose wall clock a test moves, and a client that follows its automations."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from agenthost.agents import Agent, Turn
from agenthost.host import Host
from agenthost.host.channels.automation.scheduler import instant_of, write_instant
from agenthost.host.store import MemoryBacking, MemoryStore
from tests.wire.client import PATIENCE, WireClient, open_client

Json = dict[str, Any]

VERSION = "1.0.0"
CATALOGUE = "ahp-automations://"
DAILY = "ahp-automation:/daily"
START = "2026-01-05T06:00:00.000Z"


class WallClock:
    """A clock that shows what a test says; who sleeps wakes when it has come so far."""

    def __init__(self, now: str = START) -> None:
        self._now = instant_of(now)
        self._sleepers: list[tuple[Any, asyncio.Future[None]]] = []
        self._asleep = asyncio.Event()

    def now(self) -> str:
        return write_instant(self._now)

    def monotonic(self) -> float:
        return self._now.timestamp()

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + timedelta(seconds=seconds), woken))
        self._asleep.set()
        await woken

    def set(self, now: str) -> None:
        """Show this from now on."""
        self._now = instant_of(now)
        for due, woken in self._sleepers:
            if due <= self._now and not woken.done():
                woken.set_result(None)

    async def asleep(self) -> None:
        """Wait until somebody waits for a later time than now."""
        while True:
            self._sleepers = [each for each in self._sleepers if not each[1].done()]
            if self._sleepers:
                return
            self._asleep.clear()
            async with asyncio.timeout(PATIENCE):
                await self._asleep.wait()

    async def pass_until(self, end: str) -> None:
        """Let time pass until somebody wants to look at it, again and again."""
        while True:
            await self.asleep()
            due = min(due for due, _ in self._sleepers)
            if due > instant_of(end):
                break
            self.set(write_instant(due))
        self.set(end)


class Worker(Agent):
    """Does what the message says: ``work``, ``wait`` until it may go on, or ``fail``."""

    provider, display_name = "worker", "Worker"

    def __init__(self) -> None:
        self.heard: list[str] = []
        # Agents work in a loop of their own.
        self.go_on = threading.Event()

    async def run(self, turn: Turn) -> None:
        self.heard.append(turn.text)
        if turn.text == "fail":
            raise ValueError("it broke")
        if turn.text == "wait":
            await asyncio.to_thread(self.go_on.wait, PATIENCE)
        await turn.write("done")


class World:
    """One host with its client."""

    def __init__(
        self, host: Host, url: str, client: WireClient, clock: WallClock, worker: Worker
    ) -> None:
        self.host = host
        self.url = url
        self.client = client
        self.clock = clock
        self.worker = worker

    @property
    def entries(self) -> list[Json]:
        entries: list[Json] = self.client.states[CATALOGUE]["entries"]
        return entries

    def entry(self, resource: str = DAILY) -> Json:
        return next(entry for entry in self.entries if entry["resource"] == resource)

    def runs(self, resource: str = DAILY) -> list[Json]:
        runs: list[Json] = self.entry(resource)["runs"]
        return runs

    async def create(self, resource: str = DAILY, **changes: Any) -> Json:
        """Create an automation and return its entry."""
        action = create_action(resource, **changes)
        await self.client.accepted(CATALOGUE, action)
        await self.until(lambda: self._find(resource))
        return self.entry(resource)

    def _find(self, resource: str) -> Json | None:
        return next((entry for entry in self.entries if entry["resource"] == resource), None)

    async def update(self, resource: str = DAILY, **changes: Any) -> Json:
        action = {"type": "automation/updateRequested", "resource": resource, "changes": changes}
        await self.client.accepted(CATALOGUE, action)
        await self.client.ping()
        return self.entry(resource)

    async def run(self, resource: str = DAILY, request: str = "r1") -> str:
        result = await self.client.request(
            "runAutomation", channel=CATALOGUE, automation=resource, requestId=request
        )
        run: str = result["resource"]
        return run

    async def until(self, find: Callable[[], Any]) -> Any:
        return await self.client.until(lambda: find() or None)

    async def settled(self, *, resource: str = DAILY, runs: int | None = None) -> list[Json]:
        """Wait until all runs are over, and there are as many as they say."""

        def over() -> list[Json] | None:
            found = self.runs(resource)
            active = [run for run in found if status(run) in ("pending", "running")]
            return found if not active and runs in (None, len(found)) else None

        await self.client.until(lambda: {} if over() is not None else None)
        return self.runs(resource)

    async def pass_until(self, end: str) -> None:
        """Let time pass, with every run done before the next."""
        await self.clock.pass_until(end)
        await self.host.core.writer.ledger.settle()
        await self.client.ping()


def status(run: Json) -> str:
    found: str = run["lifecycle"]["status"]
    return found


def scheduled(runs: Sequence[Json]) -> list[str]:
    """Return for when runs were scheduled, the oldest first."""
    return [run["origin"]["scheduledFor"][8:16].replace("T", " ") for run in reversed(runs)]


def definition(
    *expressions: str, text: str = "work", zone: str = "Europe/Berlin", **more: Any
) -> Json:
    triggers = [
        {
            "id": f"t{number}",
            "kind": "schedule",
            "schedule": {"expression": expression, "timeZone": zone},
        }
        for number, expression in enumerate(expressions, 1)
    ]
    return {
        "title": "Tidy up",
        "message": {"text": text, "origin": {"kind": "automation"}},
        "session": {},
        "enabled": True,
        "triggers": triggers,
        **more,
    }


def create_action(resource: str = DAILY, **changes: Any) -> Json:
    wanted = {**definition("0 9 * * *"), **changes}
    return {"type": "automation/createRequested", "resource": resource, "definition": wanted}


@asynccontextmanager
async def living(
    now: str | WallClock = START,
    backing: MemoryBacking | None = None,
    version: str = VERSION,
    client_id: str = "tester",
    **options: Any,
) -> AsyncIterator[World]:
    """Start a host at a time; what it stores stays in the backing."""
    clock = WallClock(now) if isinstance(now, str) else now
    worker = Worker()
    options.setdefault("agents", [worker])
    options.setdefault("store", MemoryStore(backing if backing is not None else MemoryBacking()))
    async with Host(clock=clock, **options) as host:
        url = await host.listen(port=0)
        async with open_client(url, client_id, version) as client:
            await client.initialize("ahp-root://", CATALOGUE)
            yield World(host, url, client, clock, worker)
