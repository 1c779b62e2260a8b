"""A front that passes everything on to a real host, over links in memory that can be broken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agenthost.cluster.front.forwarding import Forwarding
from agenthost.cluster.front.host import FrontHost
from agenthost.cluster.front.pending import PendingActions
from agenthost.errors import AgentHostError
from agenthost.host.trust import Principal
from agenthost.transport import CloseCode, Transport, memory_pair
from tests.cluster.front.feeding import HandCopy, RecordedHost, Stream
from tests.wire.client import WireClient, open_client

NODE = "n1"


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - many things lead to it
            await asyncio.sleep(0.01)


class MappedCopy(HandCopy):
    """A local copy that knows whose everything is."""

    owner: str | None = NODE

    def owner_of(self, unit: str) -> str | None:
        return self.owner

    def unit_of_channel(self, channel: str) -> str | None:
        return channel if channel.startswith("ahp-session:/") else None


class OneNode:
    """Nodes and claims of a realm with one owner."""

    def __init__(self, host: RecordedHost) -> None:
        self._host = host
        self.is_alive = True
        self.forgotten: list[str] = []

    @property
    def living(self) -> Mapping[str, Any]:
        if not self.is_alive:
            return {}
        terminals = self._host.core.root.state.get("terminals", [])
        return {NODE: SimpleNamespace(terminals=terminals, ailment="")}

    def place(
        self, provider: str | None, directories: Sequence[str], prefer: str | None
    ) -> str | None:
        return NODE

    async def owner(self, unit: str) -> str:
        if not self.is_alive:
            raise AgentHostError(f"nobody owns {unit} now")
        return NODE

    def forget(self, unit: str) -> None:
        self.forgotten.append(unit)


@dataclass
class Bed:
    """A front, the owner behind it, and the links between them."""

    stream: Stream
    owner: RecordedHost
    nodes: OneNode
    front: FrontHost
    forwarding: Forwarding
    url: str
    copy: HandCopy
    links: list[Transport] = field(default_factory=list)
    # What takes links instead of the owner, if anything does.
    answers: bool = True

    @asynccontextmanager
    async def client(self, name: str, *channels: str, **options: Any) -> AsyncIterator[WireClient]:
        async with open_client(self.url, name, **options) as client:
            await client.initialize(*channels)
            yield client

    async def break_links(self) -> None:
        links, self.links = self.links, []
        for link in links:
            await link.close(CloseCode.ABNORMAL if hasattr(CloseCode, "ABNORMAL") else 1006, "cut")


class HeldBack:
    """A link whose frames wait until the front has read what they speak of."""

    def __init__(self, transport: Transport, copy: HandCopy) -> None:
        self._transport = transport
        self._copy = copy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    async def receive(self) -> bytes:
        frame = await self._transport.receive()
        # What the owner commits in this very moment it appends right afterwards.
        await asyncio.sleep(0)
        await self._copy.reached(self._copy.stream.last)
        return frame


@asynccontextmanager
async def bed(
    tmp_path: Path, pending: PendingActions | None = None, **settings: Any
) -> AsyncIterator[Bed]:
    """Run an owner and a front of it."""
    stream = Stream()
    async with AsyncExitStack() as stack:
        settings = {"default_directory": tmp_path, **settings}
        owner = await stack.enter_async_context(RecordedHost(stream=stream, **settings))
        copy = MappedCopy(stream)
        await copy.open(stack)
        copy.follow()
        if copy.position:
            await copy.reached(copy.position)
        nodes = OneNode(owner)
        tasks: set[asyncio.Task[None]] = set()

        async def open_link(node: str, principal: Principal, purpose: str) -> Transport:
            assert node == NODE
            if not nodes.is_alive:
                raise OSError("nobody is there")
            near, far = memory_pair()
            made.links.append(near)
            if made.answers:
                task = asyncio.create_task(owner.serve(far, principal, hears_logs_elsewhere=True))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            return HeldBack(near, copy)

        forwarding = Forwarding(
            copy, None, nodes, NODE, claims=nodes, open=open_link, pending=pending
        )
        front = FrontHost(
            copy,
            forwarding,
            node=NODE,
            append=partial(stream.append, node=NODE),
            pending=forwarding.pending.logged,
            **settings,
        )
        await stack.enter_async_context(front)
        if forwarding._core is None:
            forwarding.attach(front.core)
        made = Bed(stream, owner, nodes, front, forwarding, await front.listen(port=0), copy)
        try:
            yield made
        finally:
            await forwarding.close()
            stream.copies.remove(copy)
