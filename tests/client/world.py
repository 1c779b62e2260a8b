"""A real host and its clients on wires that a test holds in its hands.

Messages on a wire wait in both directions until they are let through, and the wire may be cut with
any number of them under way. The host may be stopped, or killed at any moment and started again on
what it had made durable by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from agenthost.agents import Agent, AgentError, Turn
from agenthost.client import CannotConnect, Client, connect
from agenthost.clock import SystemClock
from agenthost.host import Host
from agenthost.host.store import Append, MemoryBacking, MemoryStore
from agenthost.protocol.jsonrpc import loads
from agenthost.transport import Encoded, ReceiveQueue, Transport, TransportClosed

__all__ = ["Backing", "Chatter", "Wire", "World"]


class Chatter(Agent):
    """Talks in small pieces and lets others run in between; stops when it is told to."""

    provider = "chatter"
    display_name = "Chatter"
    # So that a turn which the host's end cut short can go on.
    resumable = True

    async def run(self, turn: Turn) -> None:
        """Do what the first word says."""
        word, _, rest = turn.text.partition(" ")
        if word == "wait":
            await turn.write(f"steered: {await turn.next_steering()}")
            return
        if word == "ask":
            await turn.write(f"answered: {await turn.ask('Who is there?')}")
            return
        if word == "confirm":
            async with turn.tool("act", input={"what": rest}) as call:
                allowed = await call.confirm("May I?")
            await turn.write(f"allowed: {bool(allowed)}")
            return
        for number in range(int(rest or 5)):
            await asyncio.sleep(0)
            if word == "think" and number % 2:
                await turn.think(f"hm {number} ")
            else:
                await turn.write(f"word {number} ")
        if word == "fail":
            raise AgentError("as told")
        if word == "stumble" and not turn.is_resumed:
            raise AgentError("as told", resumable=True)


class End:
    """One end of a wire."""

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self.inbox = ReceiveQueue()
        # Written here and not let through yet.
        self.outgoing: deque[bytes] = deque()
        self.wire: Wire

    async def receive(self) -> bytes:
        return await self.inbox.take()

    def write(self, messages: Sequence[Encoded]) -> None:
        if not self.inbox.ended:
            self.outgoing.extend(message.payload for message in messages)
            self.wire.written()

    @property
    def backlog(self) -> int:
        return 0

    async def drained(self) -> None:
        return None

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.wire.end(code, reason)
        self.inbox.discard()

    @property
    def closed(self) -> bool:
        return self.inbox.ended

    @property
    def peer(self) -> str:
        return self._peer


class Wire:
    """What lies between one client and the host for the time of one connection."""

    def __init__(self, *, is_open: bool) -> None:
        self.client, self.host = End("host"), End("client")
        self.client.wire = self.host.wire = self
        # Whether messages pass by themselves.
        self.is_open = is_open

    def written(self) -> None:
        if self.is_open:
            self.let_through(len(self.client.outgoing), len(self.host.outgoing))

    def let_through(self, up: int, down: int) -> None:
        """Let messages through: so many to the host, so many to the client."""
        for source, target, count in (
            (self.client, self.host, up),
            (self.host, self.client, down),
        ):
            for _ in range(min(count, len(source.outgoing))):
                target.inbox.put(source.outgoing.popleft())

    def open(self) -> None:
        """Let everything through from now on."""
        self.is_open = True
        self.written()

    def cut(self, up: int, down: int) -> None:
        """Let some messages through, lose the others, and end the connection."""
        self.let_through(up, down)
        self.end(1006, "cut")

    def end(self, code: int, reason: str) -> None:
        for end in (self.client, self.host):
            end.outgoing.clear()
            end.inbox.end(code, reason)


class Backing(MemoryBacking):
    """A memory that also remembers every action that was ever made durable."""

    def __init__(self) -> None:
        super().__init__()
        self.appended: list[Append] = []

    def apply(self, write: Any) -> None:
        if isinstance(write, Append):
            self.appended.append(write)
        super().apply(write)

    def survivor(self) -> Backing:
        """Return what a crash at this moment leaves."""
        left = Backing()
        for uri, channel in self.channels.items():
            kept = type(channel)(channel.trimmed_through, list(channel.log), channel.snapshot)
            left.channels[uri] = kept
        left.sessions, left.blobs = dict(self.sessions), dict(self.blobs)
        left.records = {bucket: dict(held) for bucket, held in self.records.items()}
        left.reserved, left.used, left.gaps = self.reserved, self.used, self.gaps
        left.appended = list(self.appended)
        return left

    def origins(self) -> list[tuple[str, int]]:
        """Return who dispatched what took effect: client ids and numbers."""
        told = [loads(entry.origin) for entry in self.appended if entry.origin is not None]
        return [(origin["clientId"], origin["clientSeq"]) for origin in told]


class Ticking(SystemClock):
    """A wall clock that moves on at every look, so that whatever stamps the time has an effect."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = itertools.count()

    def now(self) -> str:
        """Return a time that nobody was told before."""
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=next(self._looks))
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class World:
    """One host and several clients."""

    def __init__(self, *agents: Agent, **options: Any) -> None:
        self._agents = agents or (Chatter(),)
        self._options = {"clock": Ticking(), **options}
        self.backing = Backing()
        self.host: Host | None = None
        self.clients: dict[str, Client] = {}
        self.wires: dict[str, Wire] = {}
        # Whether new wires let messages through by themselves.
        self.calm = True
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> World:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for client in self.clients.values():
            await client.aclose()
        await self.stop()

    async def start(self) -> None:
        """Start a host on what the last one left."""
        host = Host(list(self._agents), store=MemoryStore(self.backing), **self._options)
        self.host = await host.__aenter__()

    async def stop(self) -> None:
        """Stop the host as it should be stopped."""
        host, self.host = self.host, None
        if host is not None:
            await self._hang_up()
            await host.__aexit__(None, None, None)

    async def kill(self) -> None:
        """End the host as ``kill -9`` would: what is not durable by now never was."""
        survivor = self.backing.survivor()
        await self.stop()
        self.backing = survivor

    async def join(self, name: str, *versions: str, **more: Any) -> Client:
        """Add a client and connect it."""

        async def dial() -> Transport:
            return self._dial(name)

        options = {"client_id": name, "roll": lambda: 0.0, **more}
        if versions:
            options["versions"] = versions
        client = connect(dial, **options)
        self.clients[name] = await client.__aenter__()
        return client

    async def passing(self, ticks: int) -> None:
        """Let time pass for whoever has something to do."""
        for _ in range(ticks):
            await asyncio.sleep(0)

    def wire(self, name: str) -> Any:
        """Return what lies between a client and the host now."""
        return self.wires[name]

    def trouble(self) -> None:
        """Hold back every message from now on."""
        self.calm = False
        for wire in self.wires.values():
            wire.is_open = False

    def calm_down(self) -> None:
        """Let every message through from now on."""
        self.calm = True
        for wire in self.wires.values():
            wire.open()

    def _dial(self, name: str) -> Transport:
        if self.host is None:
            raise CannotConnect("nobody listens")
        wire = self.wires[name] = Wire(is_open=self.calm)
        task = asyncio.create_task(self._serve(self.host, wire), name=f"serve {name}")
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return wire.client

    async def _serve(self, host: Host, wire: Wire) -> None:
        with contextlib.suppress(TransportClosed):
            await host.serve(wire.host)

    async def _hang_up(self) -> None:
        for wire in self.wires.values():
            wire.end(1006, "the host is down")
        if self._serving:
            await asyncio.wait(self._serving)
