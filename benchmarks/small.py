"""Small and cold: what one quiet stream, a first connection, a command and a session cost.

CPU time stands beside wall time, because it is the steadier one where other work shares the
machine; and each figure stands beside something of the same run to compare it with.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from websockets.asyncio.client import connect as dial
from websockets.asyncio.server import ServerConnection, broadcast, serve

from agenthost.client import connect
from agenthost.host import Host, SqliteStore
from agenthost.protocol import NEWEST
from benchmarks.audience import END, Crowd, crowd, stamp
from benchmarks.host import LATENCY_RATE, running, short_turn, stream

SECONDS = 3
ROUNDS = 3
SESSIONS, TURNS = 50, 20
PYTHON = sys.executable

# Milliseconds of CPU time and of wall time.
Cost = tuple[float, float]


async def ours(watchers: Crowd, folder: Path) -> tuple[float, list[int]]:
    """Return the CPU seconds and the delays of a stream through the whole host."""
    async with running(folder) as (host, port, chat):
        await watchers.ask(do="connect", port=port, count=1, chat=chat.uri)
        before = time.process_time()
        count = SECONDS * LATENCY_RATE
        seen, _ = await stream(host, chat, watchers, f"pace {count}", delays=True)
        cpu = time.process_time() - before
        await watchers.ask(do="close")
        return cpu, seen["delays"]


async def bare(watchers: Crowd) -> tuple[float, list[int]]:
    """Return the same of the library's broadcast, which neither reduces nor keeps anything."""
    connections: list[ServerConnection] = []

    async def handler(connection: ServerConnection) -> None:
        connections.append(connection)
        await connection.wait_closed()

    options: dict[str, Any] = {"compression": None, "ping_interval": None, "close_timeout": 0.1}
    async with serve(handler, "127.0.0.1", 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        await watchers.ask(do="connect", port=port, count=1, chat=None)
        while not connections:
            await asyncio.sleep(0.01)
        await watchers.ask(do="watch", delays=True)
        before, start = time.process_time(), time.monotonic()
        for index in range(SECONDS * LATENCY_RATE):
            action = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": stamp()}
            params = {"channel": "ahp-chat:/1", "action": action, "serverSeq": index}
            message = {"jsonrpc": "2.0", "method": "action", "params": params}
            broadcast(connections, orjson.dumps(message).decode())
            await asyncio.sleep(max(0.0, start + index / LATENCY_RATE - time.monotonic()))
        broadcast(connections, END.decode())
        seen = await watchers.answer()
        cpu = time.process_time() - before
        await watchers.ask(do="close")
    return cpu, seen["delays"]


async def one_stream() -> None:
    print(f"{LATENCY_RATE:,} deltas a second to one subscriber: CPU per delta, delay p50 and p99")
    figures: dict[str, list[tuple[float, list[int]]]] = {"bare websockets": [], "agenthost": []}
    async with crowd() as watchers:
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                figures["bare websockets"].append(await bare(watchers))
                figures["agenthost"].append(await ours(watchers, Path(folder)))
    costs = {}
    for name, rounds in figures.items():
        costs[name], delays = min(rounds)
        each = costs[name] / (SECONDS * LATENCY_RATE) * 1e6
        p50, p99 = (delays[int(len(delays) * share)] / 1e6 for share in (0.5, 0.99))
        print(f"  {name:<18}{each:8.0f} µs {p50:8.2f} ms {p99:8.2f} ms")
    print(f"  ratio of CPU {costs['agenthost'] / costs['bare websockets']:.2f}")


def cost_of_children(run: Callable[[], object]) -> Cost:
    """Return what the processes cost that something starts and waits for.

    The wall time is the one it returns, if it returns one.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    waited = run()
    wall = waited if isinstance(waited, float) else (time.perf_counter() - start) * 1e3
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu * 1e3, wall


def ready_and_stop(folder: str, number: int) -> float:
    """Start a host, end it, and return the milliseconds until it said where it listens."""
    words = [PYTHON, "-m", "agenthost.cli.main", "serve", "--port", "0"]
    words += ["--data-dir", f"{folder}/{number}"]
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as host:
        assert host.stdout is not None
        host.stdout.readline()
        ready = time.perf_counter() - start
        host.send_signal(signal.SIGTERM)
    return ready * 1e3


def until_first_byte(listener: socket.socket) -> float:
    """Have a command connect, end it, and return the milliseconds until something came."""
    port = listener.getsockname()[1]
    words = [PYTHON, "-m", "agenthost.cli.main", "sessions", "--url", f"ws://127.0.0.1:{port}"]
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)
            waited = time.perf_counter() - start
            command.kill()
    return waited * 1e3


def starts() -> None:
    print("starting and ending a process: best CPU, best and median wall time, milliseconds")
    agenthost = [PYTHON, "-m", "agenthost.cli.main"]
    needed = "import asyncio, ssl, websockets.asyncio.client"
    commands = {
        "python": [PYTHON, "-c", "pass"],
        "python, what a client needs": [PYTHON, "-c", needed],
        "agenthost --version": [*agenthost, "--version"],
        **{
            f"agenthost {name} --help": [*agenthost, name, "--help"]
            for name in ("token", "sessions", "send", "chat", "doctor")
        },
    }
    for name, words in commands.items():
        row(name, lambda words=words: subprocess.run(words, stdout=subprocess.DEVNULL))  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(100))
        row("agenthost serve, until ready", lambda: ready_and_stop(folder, next(numbers)))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        row("agenthost sessions, first byte", lambda: until_first_byte(listener))


def row(name: str, run: Callable[[], object]) -> None:
    costs = [cost_of_children(run) for _ in range(2 * ROUNDS)]
    cpus, walls = zip(*costs, strict=True)
    print(f"  {name:<32}{min(cpus):8.0f}{min(walls):8.0f}{statistics.median(walls):8.0f}")


async def first_connection() -> None:
    """Print what the first client of a process waits for, beside the second."""
    async with Host() as host:
        url = await host.listen(port=0)
        # As long as somebody takes to read where to connect to.
        await asyncio.sleep(0.5)
        for name in ("first", "second"):
            cpu, start = time.process_time(), time.perf_counter()
            async with dial(url, compression=None) as client:
                hello = {"protocolVersions": [NEWEST], "clientId": name, "channel": "ahp-root://"}
                message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
                await client.send(orjson.dumps(message).decode())
                await client.recv()
                cpu, wall = time.process_time() - cpu, time.perf_counter() - start
            print(f"  {name + ' connection':<32}{cpu * 1e3:8.1f}{wall * 1e3:8.1f}")


async def first_turn() -> None:
    """Print what the first turn of a process takes, beside the second."""
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder), warm=False) as (host, _, chat):
            await asyncio.sleep(0.5)
            for name in ("first", "second"):
                cpu, start = time.process_time(), time.perf_counter()
                await short_turn(host, chat)
                cpu, wall = time.process_time() - cpu, time.perf_counter() - start
                print(f"  {name + ' turn':<32}{cpu * 1e3:8.1f}{wall * 1e3:8.1f}")


async def stored() -> None:
    """Print what sessions take on disk, beside their states as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        states, chats = 0, list[str]()
        async with (
            Host(store=SqliteStore(path)) as host,
            connect(await host.listen(port=0)) as client,
        ):
            for _ in range(SESSIONS):
                session = await client.sessions.create()
                chat = await session.chat()
                for number in range(TURNS):
                    await chat.ask(f"say hello number {number}")
                states += len(orjson.dumps(session.state)) + len(orjson.dumps(chat.state))
                chats.append(chat.uri)
        size = path.stat().st_size
        print(
            f"{SESSIONS} sessions of {TURNS} turns: {size / SESSIONS / 1e3:.1f} KB each on disk, "
            f"{states / SESSIONS / 1e3:.1f} KB as JSON"
        )
        print("subscribing to them on a host just started, medians: CPU and wall, milliseconds")
        await cold(path, chats)


async def cold(path: Path, chats: list[str]) -> None:
    """Print what opening a chat takes that is in the store only, beside one in memory."""
    async with (
        Host(store=SqliteStore(path)) as host,
        dial(await host.listen(port=0), compression=None, max_size=None) as client,
    ):
        # What warms up beside a host that starts is another figure.
        await asyncio.sleep(0.5)
        hello = {"protocolVersions": [NEWEST], "clientId": "cold", "channel": "ahp-root://"}
        for method, name, params in (
            ("initialize", "", [hello]),
            ("subscribe", "cold chat", [{"channel": uri} for uri in chats]),
            ("subscribe", "chat in memory", [{"channel": uri} for uri in chats]),
        ):
            costs: list[Cost] = []
            for each in params:
                request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": each}
                cpu, start = time.process_time(), time.perf_counter()
                await client.send(orjson.dumps(request).decode())
                while "id" not in orjson.loads(await client.recv()):
                    pass
                costs.append((time.process_time() - cpu, time.perf_counter() - start))
            if name:
                cpu, wall = (statistics.median(each) * 1e3 for each in zip(*costs, strict=True))
                print(f"  {name:<32}{cpu:8.2f}{wall:8.2f}")


def run() -> None:
    """Print the figures."""
    starts()
    print("at a host that has just started: CPU of all sides and wall, milliseconds")
    for name in ("connection", "turn"):
        # A process of its own, in which nothing was used before.
        subprocess.run([PYTHON, "-m", "benchmarks.small", name], check=True)
    asyncio.run(stored())
    asyncio.run(one_stream())


if __name__ == "__main__":
    asyncio.run(first_turn() if sys.argv[1:] == ["turn"] else first_connection())
