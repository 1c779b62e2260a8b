"""Attacks on one host, one after the other, and what everybody else feels of them.

Measured in each: the host's memory before, at its highest and afterwards, how long another client
waits for the answer to a ping, and whether the owner gets in. What the attackers did is told too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from agenthost.tokens import BOOK_FILE, Role, TokenBook
from soak.attackers import ATTACKS, Target
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost

__all__ = ["Outcome", "attack"]

SESSION = "ahp-session:/attacked"
CHAT_MEGABYTES = 20
# Seconds of each attack, and that the host then gets to come to rest, at least and at most.
DURATION = 10.0
LEAST_REST, MOST_REST = 2.0, 20.0
# Seconds between two pings, and between two attempts of the owner to connect.
PING_EVERY, CONNECT_EVERY = 0.02, 0.5
# Seconds after which an attempt has failed.
PATIENCE = 10.0

MOST_PING_SECONDS = 0.25
# Of the host as a whole, besides the chat, which it holds as data and as JSON.
MOST_MEGABYTES = 300 + 3 * CHAT_MEGABYTES
# More than before, once it is over. The C library keeps some of what was freed for each thread, and
# the host has its caches: half of this is usual. What thousands of connections or hundreds of
# megabytes leave behind, if anything, is more.
MOST_KEPT = 100


@dataclass
class Outcome:
    """What one attack came to."""

    name: str
    before: float = 0.0
    peak: float = 0.0
    after: float = 0.0
    # Seconds until it was back, or nobody waited any longer.
    rest: float = 0.0
    pings: list[float] = field(default_factory=list)
    connects: list[float] = field(default_factory=list)
    failed_connects: int = 0
    # What the attackers did of what makes it an attack, and whether they failed at it.
    done: dict[str, int] = field(default_factory=dict)
    attack_failed: bool = False
    # The first traceback that the host printed, if any.
    traceback: str = ""

    @property
    def p99(self) -> float:
        """The 99th percentile of the pings, in seconds; without any, nobody knows how long."""
        if not self.pings:
            return math.inf
        return sorted(self.pings)[math.ceil(len(self.pings) * 0.99) - 1]

    @property
    def faults(self) -> list[str]:
        """What fell short of the goals."""
        return [
            *(["ping"] if self.p99 > MOST_PING_SECONDS else []),
            *(["memory"] if self.peak > MOST_MEGABYTES else []),
            *(["memory kept"] if not self.is_memory_back else []),
            *(["owner kept out"] if self.failed_connects or not self.connects else []),
            *(["traceback"] if self.traceback else []),
            # Nobody felt an attack that there was not.
            *(["no attack"] if self.attack_failed or not self.done else []),
        ]

    @property
    def is_memory_back(self) -> bool:
        """Whether memory is about where it was before."""
        return self.after <= self.before + MOST_KEPT

    def __str__(self) -> str:
        pings = self.pings or [math.inf]
        p50, slowest = statistics.median(pings) * 1000, max(pings) * 1000
        tries = len(self.connects) + self.failed_connects
        longest = max(self.connects, default=0.0) * 1000
        done = ", ".join(f"{count} {what}" for what, count in self.done.items())
        return (
            f"{self.name}: memory {self.before:.0f} → {self.peak:.0f} → {self.after:.0f} MB "
            f"{self.rest:.0f} s later; "
            f"another's ping p50 {p50:.1f} p99 {self.p99 * 1000:.1f} max {slowest:.1f} ms; "
            f"owner in {len(self.connects)} of {tries}, {longest:.0f} ms at most; "
            f"done: {done or 'nothing'}" + (f"  ← {', '.join(self.faults)}" if self.faults else "")
        )


async def attack(names: list[str]) -> list[Outcome]:
    """Carry out the attacks of those names, or all, telling of each."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="agenthost-attack-") as directory:
        for name in ATTACKS:
            if not names or any(word in name for word in names):
                outcomes.append(await _attack_once(name, Path(directory) / str(len(outcomes))))
                print(outcomes[-1], flush=True)
    return outcomes


async def _attack_once(name: str, directory: Path) -> Outcome:
    data_dir, folder = directory / "data", directory / "folder"
    folder.mkdir(parents=True)
    # Operators may work where the host was started.
    host = ServedHost(data_dir, cwd=folder)
    await host.start()
    outcome = Outcome(name)
    try:
        viewer, operator = (_token(data_dir, role) for role in (Role.VIEWER, Role.OPERATOR))
        async with open_client(host.url, "owner") as owner:
            await owner.initialize()
            chat = await owner.ready_session(SESSION)
            await owner.snapshot(chat)
            for turn in range(CHAT_MEGABYTES):
                await owner.run_turn(chat, f"t{turn}", "/stream 10 100000")
            port = urlsplit(host.url).port or 0
            target = Target(port, viewer, operator, host.token, chat, folder.as_uri())
            outcome.before = outcome.peak = _megabytes(host)
            async with _watched(host, owner, outcome), _attackers(target, outcome):
                await asyncio.sleep(DURATION)
            await _come_to_rest(host, outcome)
    finally:
        await host.kill()
    before, found, after = host.output.partition("Traceback")
    if found:
        outcome.traceback = (before[-200:] + found + after)[:2000]
        print(outcome.traceback, flush=True)
    return outcome


def _token(data_dir: Path, role: Role) -> str:
    book = TokenBook(data_dir / BOOK_FILE)
    return book.create(f"attacking-{role.value}", role, expires=None, now=time.time()).secret


@asynccontextmanager
async def _attackers(target: Target, outcome: Outcome) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "soak.attackers", outcome.name, json.dumps(vars(target))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        # The first line says that they are at it.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await process.stdout.readline()
        yield
        # The end of their input is the end of the attack, and the last line what they have done.
        async with asyncio.timeout(PATIENCE):
            told, _ = await process.communicate(b"")
        outcome.done = json.loads((told.splitlines() or [b"{}"])[-1])
        outcome.attack_failed = process.returncode != 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _come_to_rest(host: ServedHost, outcome: Outcome) -> None:
    """Wait until the host's memory is back where it was, though not for ever."""
    start = time.perf_counter()
    while outcome.rest < LEAST_REST or (not outcome.is_memory_back and outcome.rest < MOST_REST):
        await asyncio.sleep(0.25)
        outcome.after, outcome.rest = _megabytes(host), time.perf_counter() - start


@asynccontextmanager
async def _watched(host: ServedHost, owner: WireClient, outcome: Outcome) -> AsyncIterator[None]:
    tasks = [
        asyncio.create_task(_watch_memory(host, outcome)),
        asyncio.create_task(_keep_pinging(owner, outcome)),
        asyncio.create_task(_keep_connecting(host, outcome)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _watch_memory(host: ServedHost, outcome: Outcome) -> None:
    while True:
        outcome.peak = max(outcome.peak, _megabytes(host))
        await asyncio.sleep(0.02)


async def _keep_pinging(owner: WireClient, outcome: Outcome) -> None:
    while True:
        start = time.perf_counter()
        try:
            await owner.ping()
        finally:
            # One that is still on its way at the end has taken that long at least.
            outcome.pings.append(time.perf_counter() - start)
        await asyncio.sleep(PING_EVERY)


async def _keep_connecting(host: ServedHost, outcome: Outcome) -> None:
    for number in range(10_000):
        start = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE), open_client(host.url, f"o{number}") as client:
                await client.initialize()
                outcome.connects.append(time.perf_counter() - start)
        except Exception:
            outcome.failed_connects += 1
        await asyncio.sleep(CONNECT_EVERY)


def _megabytes(host: ServedHost) -> float:
    with contextlib.suppress(OSError):
        pages = int(Path(f"/proc/{host.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0
