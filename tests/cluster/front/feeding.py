"""A realm without servers: a real host's writes become messages, which copies and fronts follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agenthost.cluster.commits import RealmWrite, Room, Tell
from agenthost.cluster.copy.applied import Applied
from agenthost.cluster.copy.list_book import ListBook
from agenthost.cluster.front.host import FrontHost
from agenthost.cluster.numbers import MOST_WRITES, number, room_for
from agenthost.host import Host
from agenthost.host.clients.client_records import CLIENTS
from agenthost.host.clients.wire_log import WireLog
from agenthost.host.core import HostCore
from agenthost.host.log.deliveries import Notice
from agenthost.host.log.ledger import Ledger
from agenthost.host.store import (
    Append,
    DropChannel,
    DropRecord,
    MemoryStore,
    PutRecord,
    SaveSnapshot,
    Store,
    TrimLog,
    Write,
)
from agenthost.host.wiring import wire
from agenthost.protocol.jsonrpc import dumps

PATIENCE = 30.0


class Stream:
    """The log of a realm: what is appended, in order, and who reads it."""

    def __init__(self) -> None:
        self.messages: list[Applied] = []
        self.copies: list[HandCopy] = []

    @property
    def last(self) -> int:
        return len(self.messages)

    def append(self, writes: Sequence[RealmWrite], node: str = "owner") -> None:
        """Add a message, or several for many writes."""
        for start in range(0, max(1, len(writes)), MOST_WRITES):
            message = len(self.messages) + 1
            numbered = tuple(
                (number(message, index), _with_number(write, number(message, index)))
                for index, write in enumerate(writes[start : start + MOST_WRITES])
            )
            self.messages.append(Applied(message, "@realm", str(message), node, numbered))
        for copy in self.copies:
            copy.follow()


class HandCopy:
    """A local copy that takes messages when it is let."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.store: Store = MemoryStore()
        self.position = 0
        self.lists = ListBook()
        # Whether it follows by itself.
        self.follows = True
        # Set as long as what was taken is stored, too.
        self.stores = asyncio.Event()
        self.stores.set()
        self._tellers: list[Callable[[Any], None]] = []
        self._stored = 0
        self._unstored: list[Applied] = []
        self._storing: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        stream.copies.append(self)

    def on_commit(self, tell: Callable[[Any], None]) -> None:
        self._tellers.append(tell)

    def follow(self) -> None:
        if self.follows:
            self.take(self.stream.last - self.position)

    def take(self, count: int = 1) -> None:
        """Take so many messages from the feed."""
        for message in self.stream.messages[self.position : self.position + count]:
            self.position = message.seq
            self._unstored.append(message)
            self.lists.take(message)
            for tell in self._tellers:
                tell(message)
        if self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store_all())

    async def _store_all(self) -> None:
        while self._unstored:
            await self.stores.wait()
            message = self._unstored.pop(0)
            writes = [write for _, write in message.writes if isinstance(write, Write)]
            await self.store.write(*writes)
            self._stored = message.seq
            async with self._changed:
                self._changed.notify_all()

    async def reached(self, position: int) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: self._stored >= position)

    async def caught_up(self) -> None:
        await self.reached(self.stream.last)

    async def open(self, stack: AsyncExitStack) -> None:
        self.store = await stack.enter_async_context(self.store)
        await self.store.reserve(1 << 50)


class _RecordingLedger(Ledger):
    """Appends what a host writes and tells to a stream, each commit as a message."""

    def __init__(self, store: Store, *, stream: Stream, **others: Any) -> None:
        super().__init__(store, **others)
        self._stream = stream
        self._gathered: list[RealmWrite] = []
        self._created: set[str] = set()
        self._room = 0

    def take_seq(self, count: int = 1) -> int:
        self._room = room_for(count)
        return super().take_seq(count)

    def write(self, *writes: Write) -> None:
        if isinstance(writes[0], Append):
            self._gathered += [Room()] * self._room
        self._gathered += [write for write in writes if self._travels(write)]
        super().write(*writes)

    def deliver(self, delivery: Any) -> None:
        if isinstance(delivery, Notice) and delivery.only is None and delivery.channel.is_logged:
            told = Tell(delivery.channel.uri, delivery.method, dumps(delivery.params))
            self._gathered.append(told)
        super().deliver(delivery)

    def _flush(self) -> None:
        super()._flush()
        gathered, self._gathered = self._gathered, []
        if gathered:
            self._stream.append(gathered)

    def _travels(self, write: Write) -> bool:
        match write:
            case SaveSnapshot(channel=uri):
                is_new = uri not in self._created
                self._created.add(uri)
                return is_new
            case DropChannel(channel=uri):
                self._created.discard(uri)
            case TrimLog():
                return False
            case PutRecord(bucket=bucket) | DropRecord(bucket=bucket):
                return bucket != CLIENTS
        return True


class RecordedHost(Host):
    """A host like any other, whose writes others can follow."""

    def __init__(self, *args: Any, stream: Stream, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._stream = stream

    def _make_core(self, store: Store, wire_log: WireLog | None, workspace_dir: Path) -> HostCore:
        return wire(
            self._settings,
            store,
            wire_log,
            workspace_dir,
            connections=lambda: len(self._connections),
            counts=self._counts,
            on_failure=self._fail,
            make_ledger=partial(_RecordingLedger, stream=self._stream),
        )


class Nobody:
    """Has nothing carried out: what reaches it is a mistake."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def attach(self, core: HostCore) -> None:
        pass

    async def close(self) -> None:
        pass

    def takes(self, method: str) -> bool:
        return method.startswith(("create", "dispose"))

    async def request(self, connection: Any, method: str, params: Any) -> object:
        raise AssertionError(f"{method} was passed on")

    async def side_channel(self, connection: Any, uri: str, method: str, params: Any) -> object:
        raise AssertionError(f"{method} was passed on")

    async def dispatch(self, dispatch: Any, channel: Any, action: Any) -> None:
        raise AssertionError(f"{action} was passed on")

    def followed(self, connection: Any, channel: Any) -> None:
        pass

    def withdrawn(self, connection: Any, channel: Any) -> None:
        pass

    def unfollowed(self, connection: Any, channel: Any) -> None:
        pass

    def left(self, connection: Any) -> None:
        pass


@dataclass
class Shown:
    """One front of a realm, and where it listens."""

    host: FrontHost
    copy: HandCopy
    url: str

    async def when(self, holds: Callable[[HostCore], object]) -> None:
        """Let everybody go on until something holds that no message tells of."""
        async with asyncio.timeout(PATIENCE):
            while not holds(self.host.core):  # noqa: ASYNC110
                await asyncio.sleep(0)


@asynccontextmanager
async def front(stream: Stream, node: str = "n1", **settings: Any) -> AsyncIterator[Shown]:
    """Run a front that has followed a stream so far."""
    copy = HandCopy(stream)
    async with AsyncExitStack() as stack:
        await copy.open(stack)
        copy.follow()
        if copy.position:
            await copy.reached(copy.position)

        def append(writes: Sequence[Write]) -> None:
            asyncio.get_running_loop().call_soon(stream.append, writes, node)

        host = FrontHost(copy, Nobody(), node=node, append=append, **settings)
        await stack.enter_async_context(host)
        try:
            yield Shown(host, copy, await host.listen(port=0))
        finally:
            stream.copies.remove(copy)


def _with_number(write: RealmWrite, seq: int) -> RealmWrite:
    return replace(write, seq=seq) if isinstance(write, Append | SaveSnapshot) else write
