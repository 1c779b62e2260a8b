"""Real sockets that break anywhere, in the middle of a frame too, between a client and a host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings

from agenthost.client import Backoff, Client, Dispatch, Rejected, Uncertain, connect
from agenthost.host import Host
from agenthost.host.store import MemoryStore
from agenthost.host.trust import Gate
from tests.client.test_convergence import SCRIPTS, Step, perform
from tests.client.world import Backing, Chatter, World
from tests.wire.client import promised

PATIENCE = 60.0

# Seconds that stand for one turn of the loop, where bytes travel through sockets.
TICK = 0.0003


class Proxy:
    """Passes bytes on between clients and a host, now and then late, until it may pass no more."""

    def __init__(self, target: str | None, random: Random) -> None:
        self.target = target
        self._random = random
        self._server: asyncio.Server | None = None
        # Bytes that may still pass, both ways together; None for any number.
        self._left: int | None = None
        # Bytes after which the next connection is cut at the latest; None for never.
        self._most: int | None = None
        # Seconds by which bytes are late at the most.
        self.latency = 0.0
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
        """Let everything pass from now on, without delay."""
        self._left = self._most = None
        self.latency = 0.0

    # What a wire in a test's hands does, as far as bytes on a socket can do it.

    def let_through(self, up: int, down: int) -> None:
        """Let bytes pass; they do by themselves."""

    def cut(self, up: int, down: int) -> None:
        """Let a few more bytes pass, and end the connection in the middle of what follows."""
        self._left = 1 + up * 67 + down * 331

    def end(self, code: int, reason: str) -> None:
        """End the connection at once."""
        self._cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.target is None:
                raise OSError("nobody listens")
            parts = urlsplit(self.target)
            there, back = await asyncio.open_connection(parts.hostname, parts.port)
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
                if self.latency:
                    await asyncio.sleep(self._random.random() * self.latency)
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
        if self._most is not None:
            # Agents go on meanwhile: one day the answer that tells of it must fit.
            self._most += 100
        self._left = None if self._most is None else self._random.randint(1, self._most)
        for writer in tuple(self._writers):
            # Hand over what was written, then end without a goodbye.
            writer.close()


class SocketWorld(World):
    """A world whose clients reach the host over sockets, each through a proxy of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._random = Random(0)
        self._proxies: dict[str, Proxy] = {}
        self._url: str | None = None

    async def __aexit__(self, *exc: object) -> None:
        await super().__aexit__(*exc)
        for proxy in self._proxies.values():
            await proxy.__aexit__()

    async def start(self) -> None:
        await super().start()
        assert self.host is not None
        gate = Gate(None)
        self._url = await self.host.listen(port=0, gate=gate)
        for proxy in self._proxies.values():
            gate.serve_at("127.0.0.1", urlsplit(proxy.url).port)
            proxy.target = self._url
        self._gate = gate

    async def stop(self) -> None:
        for proxy in self._proxies.values():
            proxy.target = None
            proxy.end(1006, "the host is down")
        await super().stop()

    async def join(self, name: str, *versions: str, **more: Any) -> Client:
        proxy = await Proxy(self._url, self._random).__aenter__()
        self._gate.serve_at("127.0.0.1", urlsplit(proxy.url).port)
        self._proxies[name] = proxy
        backoff = Backoff(0.01, 0.01)
        client = connect(proxy.url, client_id=name, versions=versions, backoff=backoff, **more)
        self.clients[name] = await client.__aenter__()
        return client

    async def passing(self, ticks: int) -> None:
        # Bytes on a socket are under way for real time, and so are those that are late.
        await asyncio.sleep(ticks * TICK)

    def wire(self, name: str) -> Proxy:
        return self._proxies[name]

    def trouble(self) -> None:
        for proxy in self._proxies.values():
            proxy.latency = 10 * TICK

    def calm_down(self) -> None:
        for proxy in self._proxies.values():
            proxy.calm_down()


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
                assert promised(held.state) == promised(fresh.state)


@settings(
    max_examples=25,
)
@given(SCRIPTS)
def test_all_clients_agree_with_the_host_over_sockets_that_break_within_frames(
    told: tuple[list[str], list[Step]],
) -> None:
    asyncio.run(perform(*told, SocketWorld))
