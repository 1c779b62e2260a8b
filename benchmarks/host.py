"""The whole host, from an agent's word to a thousand subscribers, beside a naive broadcast.

The same bytes are sent by the ``websockets`` library, message by message, in the same run. The
subscribers sit in a second process (``audience``).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import orjson
from websockets.asyncio.server import ServerConnection, broadcast, serve

from agenthost.agents import Agent, Turn
from agenthost.host import Host, Limits, SqliteStore
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.log.channel import AnyChannel, LiveChannel
from agenthost.host.store import PutSession
from agenthost.host.trust.principals import Starter
from agenthost.protocol.chat.messages import Message
from agenthost.protocol.uris import chat_uri
from agenthost.tokens import Role
from agenthost.transport import Encoded
from benchmarks.audience import Crowd, crowd, stamp
from benchmarks.core import turn as completed_turn
from benchmarks.timing import microseconds
from benchmarks.transport import allow_files

CLIENTS = (1, 10, 100, 1_000)
# Rounds of which the best counts: other work on the machine disturbs single ones.
ROUNDS = 3
# Envelopes per client in one figure.
MESSAGES = {1: 20_000, 10: 10_000, 100: 4_000, 1_000: 1_000}
WORD = " and so on"
SESSION = "ahp-session:/bench"
# Rounds of streaming in each chat, and deltas in one round.
DELTA_ROUNDS, DELTAS = 40, 2_048
LATENCY_CLIENTS, LATENCY_RATE, LATENCY_SECONDS = 100, 1_000, 3
STORED_SESSIONS = 100_000


class Streamer(Agent):
    """Streams as many words as it is told, never faster than the subscribers take them."""

    provider, display_name = "streamer", "Streamer"

    def __init__(self) -> None:
        # This agent looks at what no agent can see.
        self.host: Host | None = None

    async def run(self, turn: Turn) -> None:
        kind, number = turn.text.split()
        if kind == "pace":
            await self._pace(turn, int(number))
            return
        for index in range(int(number)):
            await turn.write(WORD)
            if index % 256 == 255:
                await self._wait_for_readers()

    async def _pace(self, turn: Turn, count: int) -> None:
        start = time.monotonic()
        for index in range(count):
            await turn.write(stamp())
            await asyncio.sleep(max(0.0, start + index / LATENCY_RATE - time.monotonic()))

    async def _wait_for_readers(self) -> None:
        # Merging for slow readers would flatter us: the naive side sends every message. Looking
        # from this thread is enough, and costs neither loop anything while readers keep up.
        assert self.host is not None
        while any(each.outbox.waiting_bytes for each in self.host.connections):
            await asyncio.sleep(0.001)


@asynccontextmanager
async def running(
    folder: Path, *, warm: bool = True
) -> AsyncIterator[tuple[Host, int, AnyChannel]]:
    """Run a host with one chat; ``warm``: after a first turn, which loads what turns need."""
    agent = Streamer()
    limits = Limits(max_connections=5_000, max_outbox_bytes=1 << 30)
    async with Host([agent], store=SqliteStore(folder / "bench.sqlite"), limits=limits) as host:
        agent.host = host
        url = await host.listen(port=0)
        core = host.core
        # Not where the benchmark was started: checkpoints of a repository are not what it measures.
        # Nor beside the store: the host watches a session's folder, and would see every commit.
        empty = folder / "empty"
        empty.mkdir()
        created = {
            "channel": SESSION,
            "workingDirectories": [empty.as_uri()],
            "_meta": {"agenthost.keep": True},
        }
        await core.sessions.create(created, Starter("benchmark"), Role.OWNER)
        session = core.directory.get(SESSION)
        assert session is not None
        chat = core.directory.get(session.state["defaultChat"])
        assert chat is not None
        if warm:
            await short_turn(host, chat)
        yield host, int(url.rpartition(":")[2]), chat


async def short_turn(host: Host, chat: AnyChannel) -> None:
    """Run a turn of one word to its end."""
    message: Message = {"text": "flood 1", "origin": {"kind": "user"}}
    before = len(chat.state["turns"])
    host.core.chats.start_turn(chat, message, Starter("benchmark"))
    while len(chat.state["turns"]) == before:
        await asyncio.sleep(0.001)


async def stream(host: Host, chat: AnyChannel, watchers: Crowd, text: str, *, delays: bool) -> Any:
    """Run one turn while the crowd watches; return what it saw and the seconds it took."""
    await watchers.ask(do="watch", delays=delays)
    start = time.perf_counter()
    message: Message = {"text": text, "origin": {"kind": "user"}}
    host.core.chats.start_turn(chat, message, Starter("benchmark"))
    return await watchers.answer(), time.perf_counter() - start


async def ours(watchers: Crowd, count: int, folder: Path) -> tuple[float, int]:
    async with running(folder) as (host, port, chat):
        await watchers.ask(do="connect", port=port, count=count, chat=chat.uri)
        number = MESSAGES[count]
        seen, seconds = await stream(host, chat, watchers, f"flood {number}", delays=False)
        await watchers.ask(do="close")
        return number * count / seconds, seen["bytes"] // (number * count)


async def naive(watchers: Crowd, count: int, size: int) -> float:
    connections: list[ServerConnection] = []

    async def handler(connection: ServerConnection) -> None:
        connections.append(connection)
        await connection.wait_closed()

    text = "x" * size
    number = MESSAGES[count]
    options: dict[str, Any] = {"compression": None, "ping_interval": None, "close_timeout": 0.1}
    async with serve(handler, "127.0.0.1", 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        await watchers.ask(do="connect", port=port, count=count, chat=None)
        while len(connections) < count:
            await asyncio.sleep(0.01)
        await watchers.ask(do="watch", delays=False)
        start = time.perf_counter()
        for _ in range(number):
            broadcast(connections, text)
            await asyncio.sleep(0)
            while max(each.transport.get_write_buffer_size() for each in connections) > 1 << 18:
                await asyncio.sleep(0.001)
        broadcast(connections, "chat/turnComplete")
        await watchers.answer()
        seconds = time.perf_counter() - start
        await watchers.ask(do="close")
    return number * count / seconds


async def delivery(watchers: Crowd) -> None:
    print("delivered envelopes per second, the whole host (reduced, logged, committed)")
    print(f"  {'subscribers':>12}{'agenthost':>14}{'naive':>14}{'ratio':>8}")
    for count in CLIENTS:
        rate = baseline = 0.0
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                found, size = await ours(watchers, count, Path(folder))
            rate = max(rate, found)
            baseline = max(baseline, await naive(watchers, count, size))
        print(f"  {count:>12}{rate:>14,.0f}{baseline:>14,.0f}{rate / baseline:>8.1f}")


async def latency(watchers: Crowd) -> None:
    p50, p99 = min([await delays(watchers) for _ in range(ROUNDS)])
    print(
        f"from an agent's word to its delivery, {LATENCY_RATE} deltas/s to {LATENCY_CLIENTS} "
        f"subscribers: p50 {p50:.2f} ms, p99 {p99:.2f} ms"
    )


async def delays(watchers: Crowd) -> tuple[float, float]:
    """Return the middle and the 99th percentile of the milliseconds that words are under way."""
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder)) as (host, port, chat):
            await watchers.ask(do="connect", port=port, count=LATENCY_CLIENTS, chat=chat.uri)
            number = LATENCY_RATE * LATENCY_SECONDS
            seen, _ = await stream(host, chat, watchers, f"pace {number}", delays=True)
            await watchers.ask(do="close")
    found = sorted(seen["delays"])
    return found[len(found) // 2] / 1e6, found[len(found) * 99 // 100] / 1e6


def long_chat(turns: int, part_size: int) -> Any:
    """Return the state of a chat in which a turn is running."""
    parts = [{"kind": "markdown", "id": "p", "content": "x" * part_size}]
    message = {"text": "hello", "origin": {"kind": "user"}}
    now = "2026-01-01T00:00:00.000Z"
    return {
        "resource": chat_uri(SESSION, "1"),
        "title": "Chat",
        "status": 8,
        "modifiedAt": now,
        "turns": [completed_turn(number, 1_000) for number in range(turns)],
        "activeTurn": {"id": "now", "startedAt": now, "message": message, "responseParts": parts},
    }


async def delta_cost() -> None:
    """Take turns between the two chats, and the middle of each: other work disturbs both alike."""
    async with Host() as host:
        directory, sizes = host.core.directory, ((10, 1_000), (10_000, 1_000_000))
        chats = [
            directory.create(chat_uri(SESSION, f"{turns}"), CHAT, long_chat(turns, size))
            for turns, size in sizes
        ]
        rounds = [[await deltas_take(host, chat) for chat in chats] for _ in range(DELTA_ROUNDS)]
        costs = [median(taken) for taken in zip(*rounds, strict=True)]
        for (turns, size), cost in zip(sizes, costs, strict=True):
            print(f"one delta in {turns:>6} turns, {size:>9,} byte part: {cost:6.2f} µs")
        print(f"  ratio {costs[1] / costs[0]:.2f}")


async def deltas_take(host: Host, chat: AnyChannel) -> float:
    """Return the microseconds that a delta takes in a chat, commits included."""
    action = {"type": "chat/delta", "turnId": "now", "partId": "p", "content": WORD}
    writer = host.core.writer
    start = time.perf_counter()
    for index in range(DELTAS):
        writer.apply(chat, action)
        if index % 256 == 255:
            await writer.ledger.settle()
    return (time.perf_counter() - start) / DELTAS * 1e6


def snapshot_cost() -> None:
    channel = LiveChannel(chat_uri(SESSION, "1"), CHAT, long_chat(10_000, 1_000))
    channel.snapshot_json()
    # To the very frame that is written to the socket.
    ours = microseconds(lambda: Encoded(channel.snapshot_json()).websocket)
    whole = microseconds(lambda: orjson.dumps(channel.state))
    print(
        f"snapshot of a 10,000-turn chat: {ours / 1000:.2f} ms, "
        f"orjson.dumps of its state: {whole / 1000:.2f} ms, ratio {ours / whole:.2f}"
    )


def resident_megabytes() -> float:
    fields = Path("/proc/self/status").read_text().split("VmRSS:")[1].split()
    return int(fields[0]) / 1024


async def stored_sessions() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.sqlite"
        async with SqliteStore(path) as store:
            for block in range(0, STORED_SESSIONS, 5_000):
                await store.write(*(_stored(number) for number in range(block, block + 5_000)))
        # What was written without a host is looked through by the first one; not by every start.
        async with Host(store=SqliteStore(path)):
            pass
        # A process of its own, for its memory alone.
        process = await asyncio.create_subprocess_exec(sys.executable, __file__, str(path))
        await process.wait()


def _stored(number: int) -> PutSession:
    uri = f"ahp-session:/{number:08}"
    modified = f"2026-01-01T00:00:00.{number % 1000:03}Z"
    summary = {
        "resource": uri,
        "provider": "demo",
        "title": f"Session {number}",
        "status": 1,
        "createdAt": modified,
        "modifiedAt": modified,
        "workingDirectories": ["file:///home/somebody/project"],
    }
    return PutSession(uri, modified, orjson.dumps(summary))


async def open_stored(path: str) -> None:
    before = resident_megabytes()
    start = time.perf_counter()
    async with Host(store=SqliteStore(path)) as host:
        await host.listen(port=0)
        started = time.perf_counter() - start
        # What is prepared for clients beside a host that starts is in the figures of ``small``.
        await asyncio.sleep(0.5)
        start = time.perf_counter()
        items, _ = await host.core.catalogue.page(50, None)
        listed = time.perf_counter() - start
        print(
            f"{STORED_SESSIONS:,} stored sessions: start {started:.2f} s, "
            f"memory {resident_megabytes():.0f} MB (before {before:.0f} MB), "
            f"first page of {len(items)} in {listed * 1000:.1f} ms"
        )


async def measure() -> None:
    allow_files()
    async with crowd() as watchers:
        await delivery(watchers)
        await latency(watchers)
    await delta_cost()
    snapshot_cost()
    await stored_sessions()


def run() -> None:
    """Print the figures."""
    asyncio.run(measure())


if __name__ == "__main__":
    asyncio.run(open_stored(sys.argv[1]))
