"""A run: clients are busy while nodes and servers fail one after the other; then all is judged."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from agenthost.protocol import SUPPORTED_VERSIONS
from soak.cluster.activity import Stage, approve_all, keep_busy
from soak.cluster.ground import FAULTS, Fault, Ground, ground
from soak.cluster.history import History
from soak.cluster.visitor import Memory, visit
from soak.witness import NEWEST
from tests.wire.client import WireFailure, promised

__all__ = ["judge", "play", "run_cluster"]

# Seconds between faults, in which clients do things.
SHORTEST_CALM, LONGEST_CALM = 0.5, 4.0
# Seconds in which every turn must have ended, once nobody starts any.
PATIENCE = 200.0
# What is wrong is told one by one up to here.
MOST_SHOWN, MOST_NEW = 40, 5


def run_cluster(faults: int, clients: int, seed: int) -> int:
    """Run it; 0 when nothing is wrong, 1 otherwise."""
    folder = Path(tempfile.mkdtemp(prefix="agenthost-soak-cluster-"))
    print(f"seed {seed}, {faults} faults, {clients} clients, in {folder}", flush=True)
    try:
        random = Random(seed)
        fate = (random.choice(FAULTS) for _ in range(faults))
        problems = asyncio.run(play(folder, fate, clients, random))
    except KeyboardInterrupt:
        print(f"ended early, nothing was judged; the data is kept in {folder}")
        return 130
    for problem, count in Counter(problems).most_common(MOST_SHOWN):
        print(f"  {problem}" + (f" ({count} times)" if count > 1 else ""))
    if problems:
        print(f"{len(problems)} problems; the data is kept in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


async def play(folder: Path, faults: Iterable[Fault], clients: int, random: Random) -> list[str]:
    """Let one fault after the other happen in a new cluster; return what is wrong."""
    async with ground(folder) as running:
        stage = Stage(random, History(), running.urls)
        versions = [
            NEWEST if number % 3 else random.choice(SUPPORTED_VERSIONS) for number in range(clients)
        ]
        memories = [
            Memory(f"client {number}", version, stage.history)
            for number, version in enumerate(versions)
        ]
        busy = [asyncio.create_task(keep_busy(stage, memory)) for memory in memories]
        try:
            for number, fault in enumerate(faults, 1):
                await _befall(running, stage, number, fault, busy)
        except TimeoutError:
            stage.faults.append("the cluster did not recover; the run ends here")
        except asyncio.CancelledError:
            for task in busy:
                task.cancel()
            await asyncio.gather(*busy, return_exceptions=True)
            raise
        stage.over = True
        await asyncio.gather(*busy)
        try:
            await judge(running, stage, memories)
        except (TimeoutError, WireFailure, OSError, AssertionError) as error:
            stage.faults.append(f"the end could not be judged: {error!r}")
        print(_summary(running, stage, memories))
    complaints = [each for node in running.nodes for each in node.complaints]
    return [*stage.history.faults, *stage.faults, *complaints]


async def _befall(
    running: Ground, stage: Stage, number: int, fault: Fault, busy: list[asyncio.Task[None]]
) -> None:
    """Let things go on for a while, let one fault happen, and tell how that went."""
    history, told = stage.history, (len(stage.history.faults), len(stage.faults))
    await asyncio.sleep(stage.random.uniform(SHORTEST_CALM, LONGEST_CALM))
    what = await fault(running, stage.random)
    seconds = await running.recovered()
    for task in busy:
        if task.done():
            # A client that broke is a fault of this program, and no run.
            task.result()
    print(
        f"{time.strftime('%H:%M:%S')} fault {number}: {what}; well after {seconds:.1f} s; "
        f"{len(stage.chats)} sessions, {len(history.outcomes)} actions, {history.seen} envelopes, "
        f"{running.refused} refused appends; {sum(history.counts.values()) + len(stage.faults)} "
        "problems",
        flush=True,
    )
    for problem in (*history.faults[told[0] :], *stage.faults[told[1] :])[:MOST_NEW]:
        print(f"  {problem}", flush=True)


async def judge(running: Ground, stage: Stage, memories: list[Memory]) -> None:
    """Let everything end, and compare what all nodes and clients hold."""
    history = stage.history
    # Who left with something unanswered comes back for the answer.
    last = [await visit(stage.random.choice(running.urls()), memory) for memory in memories]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            # Each answer comes to another client; those that never come are told below.
            while any(memory.unanswered for memory in memories):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    # What they sent again may have started something.
    first = Memory("the last client", NEWEST, history)
    visiting = await visit(running.urls()[0], first)
    for chat in await approve_all(stage, visiting, PATIENCE):
        history.faults.append(f"{chat}: its turn does not end")
    await visiting.close()
    ends: dict[str, dict[str, Any]] = {}
    channels = sorted(history.channels() - {"ahp-root://"})
    for node in running.nodes:
        auditor = await visit(node.host.url, Memory(f"auditor of {node.name}", NEWEST, History()))
        ends[node.name] = {}
        for channel in channels:
            try:
                ends[node.name][channel] = await auditor.snapshot(channel)
            except WireFailure:
                history.missing(channel, node.name)
        await auditor.close()
    history.finish(ends)
    history.did(running.deeds())
    for held in last:
        fresh = await visit(running.urls()[-1], Memory("beside", held.version, History()))
        await held.ping()
        pairs = [
            (
                channel,
                promised(state, held.version),
                promised(await fresh.snapshot(channel), held.version),
            )
            for channel, state in held.states.items()
            if channel != "ahp-root://"
        ]
        history.mirrors(held.client_id, pairs)
        await fresh.close()
        await held.close()


def _summary(running: Ground, stage: Stage, memories: list[Memory]) -> str:
    history = stage.history
    outcomes = history.outcomes.values()
    accepted = sum(outcome.accepted for outcome in outcomes)
    refused = sum(outcome.refused is not None for outcome in outcomes)
    replays = sum(memory.replays for memory in memories)
    snapshots = sum(memory.snapshots for memory in memories)
    kinds = ("number", "lost", "doubled", "both", "unanswered", "running", "differ")
    judged = ", ".join(f"{history.counts[kind]} {kind}" for kind in kinds)
    lines = [
        f"{len(stage.chats)} sessions, {len(history.outcomes)} actions ({accepted} done, "
        f"{refused} refused), {history.seen} envelopes and {history.snapshots} states looked at",
        f"{replays + snapshots} returns ({replays} by replay, {snapshots} by snapshots), "
        f"{len(running.deeds())} deeds, "
        f"{max(memory.slowest for memory in memories):.1f} s for the slowest answer",
        f"{running.refused} writes of former owners were refused by the servers",
        f"done: {dict(stage.done)}",
        f"faults: {judged}, {len(stage.faults)} others",
        *(f"  {count} times {reason}" for reason, count in stage.refusals.most_common(12)),
    ]
    return "\n".join(lines)
