"""Real NATS servers for tests: one, or a cluster of three, to pause, kill and start again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from agenthost.cluster.realm import RealmAddress, RealmError, RealmLink

__all__ = ["NatsServer", "Road", "Servers", "one_server", "realm_link", "three_servers", "until"]

PROGRAM = Path(sys.executable).parent / "nats-server"
# Seconds after which servers will not do any more what is waited for.
PATIENCE = 60.0


class NatsServer:
    """One server as a process, with its files in a folder of its own."""

    def __init__(
        self,
        name: str,
        folder: Path,
        port: int,
        settings: str = "",
        jetstream: bool = True,
        syncs: bool = False,
    ) -> None:
        self.name = name
        self.url = f"nats://127.0.0.1:{port}"
        self._config = folder / f"{name}.conf"
        self.log = folder / f"{name}.log"
        syncing = "sync_interval: always" if syncs else ""
        self._streams = f'jetstream {{ store_dir: "{folder / name}"\n{syncing} }}\n'
        self._config.write_text(
            f'server_name: {name}\nlisten: "127.0.0.1:{port}"\nlog_file: "{self.log}"\n{settings}\n'
        )
        if jetstream:
            self.keep_streams()
        self._process: subprocess.Popen[bytes] | None = None

    def keep_streams(self) -> None:
        """Have it keep streams from its next start on."""
        with self._config.open("a") as config:
            config.write(self._streams)

    def start(self) -> None:
        """Start it, or start it again, with the files that it had."""
        assert self._process is None
        # It ends with the tests, even if those are killed: see `setpriv --pdeathsig`.
        guard = ["setpriv", "--pdeathsig", "KILL"]
        self._process = subprocess.Popen(
            [*guard, str(PROGRAM), "-c", str(self._config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """End it as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as an administrator does."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """Have it do nothing, while its connections stay."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)
        # One of its threads takes the signal, and the others go on until that one is scheduled.
        os.waitpid(self._process.pid, os.WUNTRACED)

    def resume(self) -> None:
        """Have it go on after a pause."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    @property
    def runs(self) -> bool:
        """Whether there is a process, be it paused."""
        return self._process is not None

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
            process.wait(PATIENCE)


class Servers:
    """The servers of one realm."""

    def __init__(self, servers: list[NatsServer]) -> None:
        self.all = servers

    def __getitem__(self, index: int) -> NatsServer:
        return self.all[index]

    @property
    def urls(self) -> tuple[str, ...]:
        """Where they listen."""
        return tuple(server.url for server in self.all)

    @property
    def address(self) -> RealmAddress:
        """The realm that they keep."""
        return RealmAddress(self.urls)

    async def listening(self) -> None:
        """Wait until they take connections, be they refused then."""
        async with asyncio.timeout(PATIENCE):
            for server in self.all:
                to = urlsplit(server.url)
                while True:
                    try:
                        _, writer = await asyncio.open_connection(to.hostname, to.port)
                        break
                    except OSError:
                        await asyncio.sleep(0.05)
                writer.transport.abort()

    async def ready(self) -> None:
        """Wait until they keep streams: a cluster elects a leader first."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    async with RealmLink(RealmAddress(self.urls, "ready"), "ready") as link:
                        try:
                            await link.open_realm(create=False)
                        except RealmError as error:
                            if "there is no realm" in str(error):
                                return
                except RealmError:
                    pass
                await asyncio.sleep(0.05)

    async def leader(self, link: RealmLink) -> NatsServer:
        """Return the server that leads the realm's stream."""
        async with asyncio.timeout(PATIENCE):
            while True:
                info = await link.jetstream.stream_info(link.stream)
                name = info.cluster.leader if info.cluster is not None else None
                if len(self.all) == 1:
                    return self.all[0]
                for server in self.all:
                    if server.name == name:
                        return server
                await asyncio.sleep(0.05)


@asynccontextmanager
async def one_server(
    folder: Path, *, settings: str = "", jetstream: bool = True
) -> AsyncIterator[Servers]:
    """Run one server that keeps streams, unless told otherwise."""
    [port] = free_ports(1)
    servers = Servers([NatsServer("single", folder, port, settings, jetstream)])
    with _running(servers):
        await (servers.ready() if jetstream else servers.listening())
        yield servers


@asynccontextmanager
async def three_servers(
    folder: Path, *, settings: str = "", syncs: bool = False, keep_streams: int = 3
) -> AsyncIterator[Servers]:
    """Run a cluster of three, of which so many keep streams.

    ``syncs`` has them keep what they store through a power cut.
    """
    ports = free_ports(6)
    routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports[3:])
    servers = Servers(
        [
            NatsServer(
                f"n{index}",
                folder,
                ports[index],
                f'cluster {{ name: tests, listen: "127.0.0.1:{ports[3 + index]}",'
                f" routes: [{routes}] }}\n{settings}",
                jetstream=index < keep_streams,
                syncs=syncs,
            )
            for index in range(3)
        ]
    )
    with _running(servers):
        await servers.ready()
        yield servers


class Road:
    """The way of one node to a server, which can be cut; ``async with`` opens it."""

    def __init__(self, server: NatsServer) -> None:
        self._to = urlsplit(server.url)
        [self._port] = free_ports(1)
        self.address = RealmAddress((f"nats://127.0.0.1:{self._port}",))
        self._listening: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *ended: object) -> None:
        self.cut()

    async def open(self) -> None:
        """Let through what comes from now on."""
        self._listening = await asyncio.start_server(self._pass, "127.0.0.1", self._port)

    def cut(self) -> None:
        """Drop all connections, and take no more."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        for writer in self._writers:
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._to.hostname, self._to.port)
        mine = {writer, back}
        self._writers |= mine
        try:
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        finally:
            self._writers -= mine


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


@asynccontextmanager
async def realm_link(servers: Servers, name: str = "test") -> AsyncIterator[RealmLink]:
    """Connect to the servers and have their realm open."""
    async with RealmLink(servers.address, name) as link:
        await link.open_realm()
        yield link


async def known_to_servers(link: RealmLink) -> None:
    """Wait until the servers know all that a link has said so far.

    Twice, because a ping of the client of NATS overtakes what was said just before it.
    """
    for _ in range(2):
        await link.client.flush()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what a server brings about, which nobody tells of."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses, and that are not handed out to others just now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@contextmanager
def kept_port(url: str) -> Iterator[None]:
    """Keep the port of a server that is gone, so that no other test's server is found there."""
    with socket.socket() as keeper:
        # Connections of the former server may still be on their way out.
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", urlsplit(url).port))
        yield


@contextmanager
def _running(servers: Servers) -> Iterator[None]:
    try:
        for server in servers.all:
            server.start()
        yield
    finally:
        for server in servers.all:
            server.kill()
