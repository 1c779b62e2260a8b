"""A cluster on this machine, three servers and three nodes as processes, beside a single host.

All share this machine's cores, so ratios count: where every node has a machine of its own, nothing
of this is slower. The single host is the same command without ``--cluster``.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import uuid4

from agenthost.agents import Agent, Turn
from agenthost.cluster.commits import Commit, encode_commit
from agenthost.cluster.realm import Appender, RealmLink
from agenthost.host.store import Append
from benchmarks.audience import crowd, stamp
from benchmarks.transport import allow_files
from tests.cluster.servers import Servers, three_servers
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost, serve

NAMES = ("alder", "birch", "cedar")
SESSION = "ahp-session:/bench"
# Words a second and how many, for the delay of each; who listens.
RATE, WORDS, LISTENERS = 200, 1_000, 10
# Subscribers in all, and words that each of them is sent.
SUBSCRIBERS, FLOOD = 300, 2_000
UNITS, COMMIT_SECONDS = (1, 50, 1_000), 3.0
SESSIONS, SESSION_WORDS, SESSION_RATE = 1_000, 20, 1.0
# Sessions that are being created, or turns that are being started, at once.
AT_ONCE = 32


class Pacer(Agent):
    """Writes words with the time in them: ``COUNT RATE``, as fast as it may for rate 0."""

    provider, display_name = "pacer", "Pacer"

    async def run(self, turn: Turn) -> None:
        count, rate = turn.text.split()
        start = time.monotonic()
        for index in range(int(count)):
            await turn.write(stamp())
            if float(rate):
                due = start + (index + 1) / float(rate)
                await asyncio.sleep(max(0.0, due - time.monotonic()))


@asynccontextmanager
async def hosts(folder: Path, servers: Servers | None) -> AsyncIterator[list[ServedHost]]:
    """Run three nodes of a realm, or one host where there are no servers."""
    common = ("--agent", "benchmarks.cluster:Pacer", "--no-token", "--root", str(folder))
    async with AsyncExitStack() as stack:
        running = []
        for name in NAMES if servers is not None else NAMES[:1]:
            node = ("--cluster", ",".join(servers.urls), "--node", name) if servers else ()
            data_dir = folder / f"{name}-{uuid4().hex}"
            served = serve(data_dir, *common, *node, cwd=Path.cwd())
            running.append(await stack.enter_async_context(served))
        yield running


def port_of(host: ServedHost) -> int:
    return int(host.address.rpartition(":")[2])


async def open_chat(client: WireClient, session: str = SESSION) -> str:
    """Create a session of the pacer; return its chat, followed."""
    await client.initialize()
    chat = await client.ready_session(session, provider="pacer")
    await client.subscribe(chat)
    return chat


async def watched(running: Sequence[ServedHost], count: int, text: str) -> tuple[float, list[int]]:
    """Run a turn of the first host while subscribers of the others watch; give seconds, delays."""
    shown_by = running[1:] or running
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(running[0].url))
        chat = await open_chat(client, f"{SESSION}-{uuid4().hex}")
        halls = [await stack.enter_async_context(crowd()) for _ in shown_by]
        for hall, host in zip(halls, shown_by, strict=True):
            each = count // len(halls)
            await hall.ask(do="connect", port=port_of(host), count=each, chat=chat)
            await hall.ask(do="watch", delays=True)
        start = time.perf_counter()
        await client.start_turn(chat, "measured", text)
        seen = [await hall.answer() for hall in halls]
        seconds = time.perf_counter() - start
        for hall in halls:
            await hall.ask(do="close")
    return seconds, sorted(delay for each in seen for delay in each["delays"])


async def delays(running: Sequence[ServedHost], what: str) -> None:
    _, found = await watched(running, LISTENERS, f"{WORDS} {RATE}")
    middle, late = found[len(found) // 2] / 1e6, found[len(found) * 99 // 100] / 1e6
    print(f"{what}, {RATE} deltas/s: p50 {middle:.2f} ms, p99 {late:.2f} ms")


async def delivery(running: Sequence[ServedHost], what: str) -> float:
    seconds, _ = await watched(running, SUBSCRIBERS, f"{FLOOD} 0")
    rate = SUBSCRIBERS * FLOOD / seconds
    print(f"deltas delivered to {SUBSCRIBERS} subscribers, {what}: {rate:,.0f}/s")
    return rate


async def commits(servers: Servers) -> None:
    """Append as owners do: each unit's next commit when the one before is stored."""
    async with RealmLink(servers.address, "bench") as link:
        await link.open_realm()
        appender = Appender(link)
        for units in UNITS:
            ends = time.perf_counter() + COMMIT_SECONDS
            counts = await asyncio.gather(
                *(_append(appender, f"{units}-{number}", ends) for number in range(units))
            )
            print(f"commits, {units:>5} sessions at once: {sum(counts) / COMMIT_SECONDS:,.0f}/s")


async def _append(appender: Appender, unit: str, ends: float) -> int:
    action, last, count = b'{"type":"chat/delta","content":"' + b"x" * 300 + b'"}', 0, 0
    while time.perf_counter() < ends:
        write = Append(0, unit, "2026-01-01T00:00:00.000Z", action)
        commit = Commit(uuid4().hex, unit, "bench", (write,))
        last = await appender.append(unit, encode_commit(commit), commit.id, last)
        count += 1
    return count


async def many_sessions(running: Sequence[ServedHost]) -> None:
    """Stream in a thousand sessions at once, a third of them through each node."""
    limit = asyncio.Semaphore(AT_ONCE)
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(open_client(host.url, host.url)) for host in running
        ]
        for client in clients:
            await client.initialize()

        async def create(number: int) -> tuple[WireClient, str]:
            client = clients[number % len(clients)]
            async with limit:
                session = f"{SESSION}-many-{number}"
                chat = await client.ready_session(session, provider="pacer")
                await client.subscribe(chat)
                return client, chat

        async def stream(client: WireClient, chat: str) -> None:
            async with limit:
                await client.start_turn(chat, "t", f"{SESSION_WORDS} {SESSION_RATE}")
            await client.turn_end(chat, "t")

        start = time.perf_counter()
        chats = await asyncio.gather(*(create(number) for number in range(SESSIONS)))
        created = time.perf_counter() - start
        start = time.perf_counter()
        await asyncio.gather(*(stream(*each) for each in chats))
        seconds = time.perf_counter() - start
    print(
        f"{SESSIONS:,} sessions: created in {created:.1f} s; streaming {SESSION_RATE:g} delta/s "
        f"each at once, all ended after {seconds:.1f} s "
        f"(at best {SESSION_WORDS / SESSION_RATE:.0f} s)"
    )


async def measure() -> None:
    allow_files()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print(f"{os.cpu_count()} cores for everything")
        async with hosts(folder, None) as running:
            await delays(running, "one host, from an agent to a client")
            alone = await delivery(running, "one host")
        async with three_servers(folder) as servers:
            await commits(servers)
            async with hosts(folder, servers) as running:
                await delays(running, "three nodes, from an agent to a client on another node")
                together = await delivery(running, "three nodes, all on the two others")
                print(f"  ratio {together / alone:.2f}")
                await many_sessions(running)


def run() -> None:
    """Print the figures."""
    asyncio.run(measure())
