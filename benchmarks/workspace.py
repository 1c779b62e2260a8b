"""Files, terminals and changes: what they cost, and what they cost somebody who only talks.

Each figure stands beside a baseline of the same run: an idle host, a bare pty, the ``git`` program
itself, a plain read. The client is a process of its own (``visitor``), and so are those who watch
the other chat (``audience``).
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from agenthost.agents import Agent, Turn
from agenthost.host import Host, Limits, SqliteStore
from agenthost.host.log.channel import AnyChannel
from agenthost.host.trust.principals import Starter
from agenthost.protocol.chat.messages import Message
from agenthost.tokens import Role
from agenthost.workspace.git.checkpoints import Checkpoints
from agenthost.workspace.git.program import GitProgram
from agenthost.workspace.git.repository import find_repository
from benchmarks import visitor
from benchmarks.audience import Crowd, crowd, stamp
from benchmarks.host import resident_megabytes

FLOOD_BYTES = 50_000_000
WATCHERS, DELTAS_PER_SECOND, SECONDS = 10, 200, 4
TRACKED_FILES, CHANGED_FILES = 50_000, 100
LISTED_FILES = 100_000
CHECKED_OUT_FILES = 5_000
READ_BYTES = 10 * 1024 * 1024
FILES_IN_A_FOLDER = 100
# What is found in all of the listed files' names, and in few.
QUERY = "mod7file42"
STARTER = Starter("benchmark")
PAGES = ("page_count", "page_size")


class Talker(Agent):
    """Says how long its words are under way, and remembers when it was called."""

    provider, display_name = "talker", "Talker"

    def __init__(self) -> None:
        self.called = 0.0

    async def run(self, turn: Turn) -> None:
        self.called = time.perf_counter()
        start = time.monotonic()
        for index in range(int(turn.text)):
            await turn.write(stamp())
            await asyncio.sleep(max(0.0, start + index / DELTAS_PER_SECOND - time.monotonic()))


@asynccontextmanager
async def running(folder: Path, agent: Agent) -> AsyncIterator[tuple[Host, str]]:
    """Run a host whose store lies in a folder, and which works on all below it."""
    store, work = SqliteStore(folder / "bench.sqlite"), folder / "workspace"
    limits = Limits(max_outbox_bytes=1 << 30)
    options: dict[str, Any] = {"default_directory": folder, "workspace_dir": work}
    async with Host([agent], store=store, limits=limits, **options) as host:
        yield host, await host.listen(port=0)


async def new_chat(host: Host, session: str, folder: Path) -> AnyChannel:
    """Make a session that works in a folder; return its chat."""
    created = {
        "channel": session,
        "workingDirectories": [folder.as_uri()],
        "_meta": {"agenthost.keep": True},
    }
    await host.core.sessions.create(created, STARTER, Role.OWNER)
    made = host.core.directory.get(session)
    assert made is not None
    chat = host.core.directory.get(made.state["defaultChat"])
    assert chat is not None
    return chat


async def turn(host: Host, chat: AnyChannel, words: int) -> None:
    """Run a turn to its end."""
    message: Message = {"text": str(words), "origin": {"kind": "user"}}
    before = len(chat.state["turns"])
    host.core.chats.start_turn(chat, message, STARTER)
    while len(chat.state["turns"]) == before:
        await asyncio.sleep(0.001)


# Those who visit.


class Visit:
    """A visitor's process, while it works."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def answer(self) -> Any:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the visitor died")
        return json.loads(line)

    @property
    def is_over(self) -> bool:
        return self._process.returncode is not None

    async def end(self) -> Any:
        """Return the visitor's figures."""
        figures = await self.answer()
        await self._process.wait()
        return figures


async def visit(*words: object) -> Visit:
    """Start a visitor; returns when it begins with its task."""
    command = [sys.executable, visitor.__file__, *map(str, words)]
    found = Visit(await asyncio.create_subprocess_exec(*command, stdout=PIPE))
    assert await found.answer() == "begun"
    return found


# A flood in a terminal, and somebody who only talks.


async def delays(host: Host, chat: AnyChannel, watchers: Crowd) -> tuple[float, float]:
    """Return the middle and the 99th percentile of the milliseconds that words are under way."""
    await watchers.ask(do="watch", delays=True)
    running = asyncio.create_task(turn(host, chat, DELTAS_PER_SECOND * SECONDS))
    found = sorted((await watchers.answer())["delays"])
    await running
    return found[len(found) // 2] / 1e6, found[len(found) * 99 // 100] / 1e6


def stored_bytes(folder: Path) -> int:
    """Return how large the store is, what waits beside its file included."""
    with closing(sqlite3.connect(f"file:{folder / 'bench.sqlite'}?mode=ro", uri=True)) as store:
        pages, size = (store.execute(f"PRAGMA {name}").fetchone()[0] for name in PAGES)
    return int(pages) * int(size)


async def terminal_flood(folder: Path) -> None:
    async with crowd() as watchers, running(folder, Talker()) as (host, url):
        chat = await new_chat(host, "ahp-session:/talk", folder / "empty")
        await turn(host, chat, 1)
        port = int(url.rpartition(":")[2])
        await watchers.ask(do="connect", port=port, count=WATCHERS, chat=chat.uri)
        found = {"the host is idle": await delays(host, chat, watchers)}
        stored = [stored_bytes(folder)]
        bare = await visit("bare_flood", FLOOD_BYTES)
        found["a bare pty is flooded beside it"] = await delays(host, chat, watchers)
        alone = await bare.end()
        stored.append(stored_bytes(folder))
        memory, worked = resident_megabytes(), time.process_time()
        flood = await visit("flood", url, folder / "empty", FLOOD_BYTES)
        found["a terminal of the host is flooded"] = await delays(host, chat, watchers)
        was_short = flood.is_over
        figures = await flood.end()
        worked = time.process_time() - worked
        stored.append(stored_bytes(folder))
        grown, now = [b - a for a, b in pairwise(stored)], resident_megabytes()
        await watchers.ask(do="close")
    print(f"{DELTAS_PER_SECOND} deltas/s of another chat to {WATCHERS} subscribers, while")
    for when, (p50, p99) in found.items():
        print(f"  {when:<36} p50 {p50:7.2f} ms, p99 {p99:7.2f} ms")
    if was_short:
        print("  (the flood was over before that was measured)")
    print(
        f"{FLOOD_BYTES / 1e6:.0f} MB through a terminal: {figures['seconds']:.1f} s "
        f"({figures['characters'] / 1e6:.1f} M characters read by the client), "
        f"through a bare pty {alone['seconds']:.1f} s; the host worked {worked:.1f} s of it"
    )
    print(
        f"  the store grew by {grown[1] / 1024:,.0f} KiB meanwhile, and by {grown[0] / 1024:,.0f} "
        f"KiB while the same was said without it; the host from {memory:.0f} to {now:.0f} MB"
    )


# A large repository.


def git(folder: Path, *words: str) -> None:
    settings = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "gc.auto=0")
    command = ["git", "-C", str(folder), *settings, *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def seconds(*words: str) -> float:
    """Return the seconds that a command takes, the better of two times."""
    taken = []
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return min(taken)


def make_files(folder: Path, numbers: range, content: Callable[[int], str]) -> None:
    """Make files with these numbers in folders below a folder."""
    for number in numbers:
        below = folder / f"mod{number // FILES_IN_A_FOLDER}"
        if number % FILES_IN_A_FOLDER == 0:
            below.mkdir(parents=True, exist_ok=True)
        (below / f"file{number}.py").write_text(content(number))


def make_repository(folder: Path, count: int) -> None:
    make_files(folder, range(count), lambda number: f"{number}\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")


async def large_repository(folder: Path) -> None:
    repository = folder / "large"
    await asyncio.to_thread(make_repository, repository, TRACKED_FILES)
    status = seconds("git", "-C", str(repository), "status", "--porcelain", "-uall")
    print(f"a repository of {TRACKED_FILES:,} files (git status takes {status * 1000:.0f} ms)")
    await checkpoints(folder, repository)
    agent = Talker()
    async with running(folder, agent) as (host, url):
        opened = await (await visit("changes", url, repository, "uncommitted")).end()
        print(
            f"  the {opened['files']} uncommitted changes: first {opened['first'] * 1000:.0f} ms, "
            f"opened again {opened['later'] * 1000:.0f} ms"
        )
        await first_deltas("with", host, repository, agent)
        await completions(url, repository)
        (repository / ".git").rename(folder / "no longer")
        await first_deltas("without", host, repository, agent)


async def checkpoints(folder: Path, repository: Path) -> None:
    program = GitProgram()
    found = await find_repository(program, str(repository))
    assert found is not None
    kept = Checkpoints(program, folder / "checkpoints")
    taken = [await _timed(kept.take, found) for _ in range(3)]
    make_files(repository, range(CHANGED_FILES), lambda number: f"{number} changed\n")
    changed = await _timed(kept.take, found)
    print(
        f"  a checkpoint: first {taken[0] * 1000:.0f} ms, with nothing changed "
        f"{taken[2] * 1000:.0f} ms, with {CHANGED_FILES} files changed {changed * 1000:.0f} ms"
    )


async def first_deltas(name: str, host: Host, folder: Path, agent: Talker) -> None:
    chat = await new_chat(host, f"ahp-session:/{name}", folder)
    first = [await _until_called(host, chat, agent) for _ in range(3)]
    print(
        f"  to the first delta {name} git: first turn {first[0] * 1000:.0f} ms, "
        f"later ones {min(first[1:]) * 1000:.0f} ms"
    )


async def _timed(work: Callable[..., Any], *words: object) -> float:
    start = time.perf_counter()
    await work(*words)
    return time.perf_counter() - start


async def _until_called(host: Host, chat: AnyChannel, agent: Talker) -> float:
    start = time.perf_counter()
    await turn(host, chat, 1)
    return agent.called - start


async def completions(url: str, repository: Path) -> None:
    """Ask for files of a repository that has got many more, none of them known to git."""
    more = range(TRACKED_FILES, LISTED_FILES)
    await asyncio.to_thread(make_files, repository, more, lambda number: "")
    listing = seconds("git", "-C", str(repository), "ls-files", "-co", "--exclude-standard")
    found = await (await visit("complete", url, repository, QUERY)).end()
    print(
        f"  @{QUERY} in {LISTED_FILES:,} files: first {found['first'] * 1000:.0f} ms, "
        f"later {found['later'] * 1000:.0f} ms ({found['items']} found; "
        f"git ls-files alone {listing * 1000:.0f} ms)"
    )


# Watches, reading.


async def checkout(folder: Path) -> None:
    repository = folder / "two"
    await asyncio.to_thread(make_repository, repository, CHECKED_OUT_FILES)
    git(repository, "checkout", "-qb", "other")
    make_files(repository, range(CHECKED_OUT_FILES), lambda number: f"other {number}\n")
    git(repository, "commit", "-qam", "other")
    start = time.perf_counter()
    git(repository, "checkout", "-q", "main")
    alone = time.perf_counter() - start
    async with running(folder, Talker()) as (_, url):
        before = resident_megabytes()
        words = (url, repository, repository, "other", CHECKED_OUT_FILES)
        found = await (await visit("watch", *words)).end()
        after = resident_megabytes()
    print(
        f"git checkout of {CHECKED_OUT_FILES:,} files under a watch: all told after "
        f"{found['seconds']:.2f} s in {found['batches']} batches of {found['events']:,} events "
        f"(unwatched {alone:.2f} s); the host from {before:.0f} to {after:.0f} MB"
    )


async def reading(folder: Path) -> None:
    print(f"reading {READ_BYTES // 1024 // 1024} MiB")
    contents = {"text": b"x" * 79 + b"\n", "bytes": os.urandom(79) + b"\n"}
    async with running(folder, Talker()) as (_, url):
        for name, line in contents.items():
            path = folder / name
            path.write_bytes((line * (READ_BYTES // len(line) + 1))[:READ_BYTES])
            start = time.perf_counter()
            path.read_bytes()
            plain = time.perf_counter() - start
            before = resident_megabytes()
            found = await (await visit("read", url, folder, path, READ_BYTES)).end()
            print(
                f"  {name:<6} {found['seconds'] * 1000:.0f} ms (a plain read "
                f"{plain * 1000:.1f} ms); the host from {before:.0f} to "
                f"{resident_megabytes():.0f} MB"
            )


PARTS = (terminal_flood, large_repository, checkout, reading)


def run() -> None:
    """Print the figures."""
    for part in PARTS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            (folder / "empty").mkdir()
            asyncio.run(part(folder))
