"""Attacks on one host, one after the other, and what everybody else feels of them.

Measured in each: the host's memory before, at its highest and afterwards, how long another client
waits for the answer to a ping, and whether the owner gets in.
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
CHAT_MEGABYTES = 10
# Seconds of each attack, and that the host then gets to come to rest.
DURATION, REST = 10.0, 6.0
# Seconds between two pings, and between two attempts of the owner to connect.
PING_EVERY, CONNECT_EVERY = 0.02, 0.5
# Seconds after which an attempt has failed.
PATIENCE = 10.0

MOST_PING_SECONDS = 0.25
# Of the host as a whole, besides the chat, which it holds as data and as JSON.
MOST_MEGABYTES = 300 + 3 * CHAT_MEGABYTES


@dataclass
class Outcome:
    """What one attack came to."""

    name: str
    before: float = 0.0
    peak: float = 0.0
    after: float = 0.0
    pings: list[float] = field(default_factory=list)
    connects: list[float] = field(default_factory=list)
    failed_connects: int = 0

    @property
    def p99(self) -> float:
        """The 99th percentile of the pings, in seconds."""
        return sorted(self.pings)[math.ceil(len(self.pings) * 0.99) - 1]

    @property
    def faults(self) -> list[str]:
        """What fell short of the goals."""
        return [
            *(["ping"] if self.p99 > MOST_PING_SECONDS else []),
            *(["memory"] if self.peak > MOST_MEGABYTES else []),
            *(["owner kept out"] if self.failed_connects or not self.connects else []),
        ]

    def __str__(self) -> str:
        p50, slowest = statistics.median(self.pings) * 1000, max(self.pings) * 1000
        tries = len(self.connects) + self.failed_connects
        longest = max(self.connects, default=0.0) * 1000
        return (
            f"{self.name}: memory {self.before:.0f} → {self.peak:.0f} → {self.after:.0f} MB; "
            f"another's ping p50 {p50:.1f} p99 {self.p99 * 1000:.1f} max {slowest:.1f} ms; "
            f"owner in {len(self.connects)} of {tries}, {longest:.0f} ms at most"
            + (f"  ← {', '.join(self.faults)}" if self.faults else "")
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


async def _attack_once(name: str, data_dir: Path) -> Outcome:
    host = ServedHost(data_dir)
    await host.start()
    book = TokenBook(data_dir / BOOK_FILE)
    secret = book.create("attacker", Role.VIEWER, expires=None, now=time.time()).secret
    outcome = Outcome(name)
    try:
        async with open_client(host.url, "owner") as owner:
            await owner.initialize()
            chat = await owner.ready_session(SESSION)
            await owner.snapshot(chat)
            for turn in range(CHAT_MEGABYTES):
                await owner.run_turn(chat, f"t{turn}", "/stream 10 100000")
            target = Target(urlsplit(host.url).port or 0, secret, host.token, chat)
            outcome.before = outcome.peak = _megabytes(host)
            async with _watched(host, owner, outcome), _attackers(name, target):
                await asyncio.sleep(DURATION)
            await asyncio.sleep(REST)
            outcome.after = _megabytes(host)
    finally:
        await host.kill()
    if "Traceback" in host.output:
        print(host.output[host.output.index("Traceback") :][:2000], flush=True)
    return outcome


@asynccontextmanager
async def _attackers(name: str, target: Target) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "soak.attackers", name, json.dumps(vars(target))),
        stdin=asyncio.subprocess.PIPE,
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


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
