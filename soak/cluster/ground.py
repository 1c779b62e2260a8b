"""Three NATS servers and three nodes as processes of this machine, and what can befall them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from soak.cluster.worker import DEEDS_VARIABLE
from tests.cluster.servers import Servers, three_servers
from tests.wire.hosting import ServedHost

__all__ = [
    "FAULTS",
    "Fault",
    "Ground",
    "Node",
    "ground",
    "kill_all_servers",
    "kill_node",
    "kill_server",
    "pause_node",
]

NAMES = ("alder", "birch", "cedar")
# Seconds of a pause: longer than it takes until a silent node is taken for dead.
PAUSE = 5.0
# Seconds that something stays away, at most.
LONGEST_ABSENCE = 8.0
# Seconds in which everything must be well again after a fault.
RECOVERY = 90.0
REFUSED = "agenthost_cluster_refused_appends_total"


class Node:
    """One node, by its name, with the data directory that outlives its process."""

    def __init__(self, name: str, folder: Path, *options: str) -> None:
        self.name = name
        self._tokens = folder / "token"
        # A folder of its own, which agents look through with every turn: not the servers' files.
        workspace = folder / "workspace"
        workspace.mkdir(exist_ok=True)
        self.host = ServedHost(
            *(folder / name, "--token-file", str(self._tokens), "--root", str(workspace)),
            # Clients here may be away for long, and what they made is to be there all the same.
            *("--draft-seconds", "0"),
            *("--agent", "soak.cluster.worker:Worker", *options),
            cwd=Path.cwd(),
        )
        # Set while the process exists and takes clients, paused or not.
        self.is_up = False
        # Appends that the servers refused it, those of its earlier processes included.
        self.refused = 0
        self._refused_now = 0
        # What it complained of, in words.
        self.complaints: list[str] = []

    async def start(self) -> None:
        """Start it; it takes clients when this returns."""
        await self.host.start()
        self.is_up, self._refused_now = True, 0

    async def kill(self) -> None:
        """End it as a crash does."""
        self.is_up = False
        await self.host.kill()
        self.listen()

    async def stop(self) -> None:
        """Let it hand over what it has and leave."""
        self.is_up = False
        code = await self.host.stop()
        if code != 0:
            self.complaints.append(f"{self.name} stopped with {code}: {self.host.output[-500:]}")
        self.listen()

    def listen(self) -> None:
        """Keep what it printed, and note what it complained of."""
        with (self.host.data_dir / "output").open("a") as kept:
            kept.write(self.host.output)
        found = re.search(r"(?s)Traceback.{0,3000}", self.host.output)
        if found is not None:
            self.complaints.append(f"{self.name} complained: {found[0]}")

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        os.kill(self.host.pid, number)

    async def is_well(self) -> bool:
        """Say whether it answers that it is."""
        return await asyncio.to_thread(self._fetch, "/healthz") is not None

    async def count_refused(self) -> None:
        """Look how many appends it was refused."""
        page = await asyncio.to_thread(self._fetch, "/metrics") or ""
        found = re.findall(rf"^{REFUSED}(?:{{.*?}})? (\d+)", page, re.M)
        now = sum(map(int, found))
        self.refused += max(0, now - self._refused_now)
        self._refused_now = now

    def _fetch(self, path: str) -> str | None:
        token = self._tokens.read_text().strip()
        request = Request(
            f"http://{self.host.address}{path}", headers={"Authorization": f"Bearer {token}"}
        )
        try:
            with urlopen(request, timeout=5) as answer:
                return str(answer.read().decode())
        except (HTTPError, URLError, OSError):
            return None


class Ground:
    """The servers and nodes of a run."""

    def __init__(self, servers: Servers, nodes: list[Node], deeds: Path) -> None:
        self.servers = servers
        self.nodes = nodes
        self._deeds = deeds

    def urls(self) -> list[str]:
        """Return where the nodes listen that run."""
        return [node.host.url for node in self.nodes if node.is_up]

    def deeds(self) -> list[str]:
        """Return what agents did, in order."""
        return self._deeds.read_text().splitlines()

    @property
    def refused(self) -> int:
        """How many appends of former owners the servers refused so far."""
        return sum(node.refused for node in self.nodes)

    async def recovered(self) -> float:
        """Wait until every node is well; return how long that took.

        Raises:
            TimeoutError: one never was.
        """
        clock = asyncio.get_running_loop().time
        start = clock()
        async with asyncio.timeout(RECOVERY):
            # Nothing tells when a process has become well.
            while not all([await node.is_well() for node in self.nodes]):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        for node in self.nodes:
            await node.count_refused()
        return clock() - start


@asynccontextmanager
async def ground(folder: Path) -> AsyncIterator[Ground]:
    """Run three servers and three nodes until the block ends."""
    deeds = folder / "deeds"
    deeds.touch()
    os.environ[DEEDS_VARIABLE] = str(deeds)
    (folder / "servers").mkdir()
    async with three_servers(folder / "servers", syncs=True) as servers:
        urls = ",".join(servers.urls)
        nodes = [Node(name, folder, "--cluster", urls, "--node", name) for name in NAMES]
        try:
            await asyncio.gather(*(node.start() for node in nodes))
            yield Ground(servers, nodes, deeds)
        finally:
            for node in nodes:
                if node.host.running:
                    node.signal(signal.SIGCONT)
                    await node.host.kill()
                    node.listen()


async def kill_node(ground: Ground, random: Random) -> str:
    """Kill a node, and start it again after a while."""
    node, seconds = random.choice(ground.nodes), random.uniform(0, LONGEST_ABSENCE)
    await node.count_refused()
    await node.kill()
    await asyncio.sleep(seconds)
    await node.start()
    return f"killed node {node.name} for {seconds:.1f} s"


async def pause_node(ground: Ground, random: Random) -> str:
    """Pause a node until others have its sessions, and let it go on."""
    node = random.choice(ground.nodes)
    node.signal(signal.SIGSTOP)
    await asyncio.sleep(PAUSE)
    node.signal(signal.SIGCONT)
    return f"paused node {node.name} for {PAUSE:g} s"


async def restart_node(ground: Ground, random: Random) -> str:
    """Stop a node as an update does, and start it again."""
    node = random.choice(ground.nodes)
    await node.count_refused()
    await node.stop()
    await node.start()
    return f"restarted node {node.name}"


async def kill_server(ground: Ground, random: Random) -> str:
    """Kill a server, and start it again after a while."""
    server, seconds = random.choice(ground.servers.all), random.uniform(0, LONGEST_ABSENCE)
    server.kill()
    await asyncio.sleep(seconds)
    server.start()
    return f"killed server {server.name} for {seconds:.1f} s"


async def kill_all_servers(ground: Ground, random: Random) -> str:
    """Kill all servers, and start them again after a while."""
    seconds = random.uniform(0, LONGEST_ABSENCE)
    for server in ground.servers.all:
        server.kill()
    await asyncio.sleep(seconds)
    for server in ground.servers.all:
        server.start()
    return f"killed all servers for {seconds:.1f} s"


Fault = Callable[[Ground, Random], Awaitable[str]]
FAULTS: tuple[Fault, ...] = (
    *(kill_node,) * 3,
    *(pause_node,) * 3,
    *(restart_node,),
    *(kill_server,) * 3,
    *(kill_all_servers,),
)
