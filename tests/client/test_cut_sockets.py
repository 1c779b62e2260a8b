"""Real sockets that break anywhere, in the middle of a frame too, between a client and a host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from urllib.parse import urlsplit

import pytest

from agenthost.client import Client, Dispatch, Rejected, Uncertain, connect
from agenthost.host import Host
from agenthost.host.store import MemoryStore
from agenthost.host.trust import Gate
from tests.client.test_convergence import without_times
from tests.client.world import Backing, Chatter

PATIENCE = 30.0


class Proxy:
    """Passes bytes on between clients and a host, until it has passed as many as it may."""

    def __init__(self, target: str, random: Random) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname, parts.port)
        self._random = random
        self._server: asyncio.Server | None = None
        # Bytes that may still pass, both ways together; None for any number.
        self._left: int | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.cuts = 0

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        self._cut()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def limit(self, most: int) -> None:
        """Cut every connection after a random number of bytes."""
        self._most = most
        self._left = self._random.randint(1, most)

    def calm_down(self) -> None:
        self._left = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, back))
                group.create_task(self._pass(there, writer))
        finally:
            for end in (writer, back):
                self._writers.discard(end)
                end.transport.abort()

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(4096):
                if self._left is None:
                    target.write(data)
                    continue
                # What may still pass does pass, however little of a frame that is.
                target.write(data[: self._left])
                await target.drain()
                self._left -= len(data)
                if self._left <= 0:
                    self._cut()
                    return
            target.close()
        except OSError:
            pass

    def _cut(self) -> None:
        self.cuts += 1
        if self._left is not None:
            self._left = self._random.randint(1, self._most)
        for writer in tuple(self._writers):
            # Hand over what was written, then end without a goodbye.
            writer.close()


@asynccontextmanager
async def proxied(seed: int) -> AsyncIterator[tuple[Client, Proxy, Backing, str]]:
    backing = Backing()
    async with Host([Chatter()], store=MemoryStore(backing)) as host:
        gate = Gate(None)
        url = await host.listen(port=0, gate=gate)
        async with Proxy(url, Random(seed)) as proxy:
            gate.serve_at("127.0.0.1", urlsplit(proxy.url).port)
            async with connect(proxy.url, client_id="c", roll=lambda: 0.0) as client:
                yield client, proxy, backing, url


@pytest.mark.parametrize("seed", range(4))
async def test_a_connection_that_breaks_at_any_byte_loses_and_repeats_nothing(seed: int) -> None:
    async with asyncio.timeout(PATIENCE), proxied(seed) as (client, proxy, backing, url):
        session = await client.sessions.create(uri="ahp-session:/s")
        chat, notes = await session.chat(), await session.annotations()
        # Room for a handshake now and then, and never for long.
        proxy.limit(6_000)
        done: list[Dispatch] = []
        for number in range(60):
            done.append(session.rename(f"title {number}"))
            done.append(notes.add("file:///a", f"note {number}" * 9, turn_id="t")[1])
            done.append(chat.queue("say 12"))
            await asyncio.wait({done[-1].outcome})
        proxy.calm_down()
        await asyncio.wait([dispatch.outcome for dispatch in done])
        assert proxy.cuts > 10

        took_effect = backing.origins()
        assert len(took_effect) == len(set(took_effect))
        for dispatch in done:
            times = took_effect.count(("c", dispatch.client_seq))
            match dispatch.outcome.exception():
                case None:
                    assert times == 1
                case Uncertain():
                    assert times <= 1
                case Rejected():
                    assert times == 0
                case other:
                    raise AssertionError(f"{dispatch.action} ended with {other!r}")

        await chat.channel.until(lambda state: not state.get("queuedMessages"))
        await chat.channel.until(lambda state: "activeTurn" not in state)
        async with connect(url, client_id="observer") as observer:
            for held in (session.channel, chat.channel, notes.channel):
                fresh = await observer.subscribe(held.uri)
                await client.request("ping")
                assert without_times(held.state) == without_times(fresh.state)
