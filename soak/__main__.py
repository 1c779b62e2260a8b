"""``python -m soak``: kill the host N times at random moments and report what was lost.

``--attacks`` attacks a host instead and reports what others feel of it. ``--cluster`` lets nodes
and servers of a cluster fail and checks what every client saw; with ``--rolling N`` it restarts the
nodes in turn, of which nobody may see more than a reconnect.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from random import Random

from agenthost.cli.data_dir import STORE_FILE
from soak.attacks import attack
from soak.rounds import Round, Run

__all__ = ["main"]

# Problems of one round that are told one by one.
MOST_SHOWN = 10


def main() -> int:
    """Run the soak; 0 when nothing was lost, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="how often to kill (%(default)s)")
    parser.add_argument("--seed", type=int, help="repeats a run's choices, though not its timing")
    parser.add_argument(
        "--attacks",
        nargs="*",
        metavar="WORD",
        help="attack the host instead, in all ways or in those whose names have such a word",
    )
    parser.add_argument("--cluster", action="store_true", help="let a cluster's parts fail instead")
    parser.add_argument("--faults", type=int, default=200, help="how often (%(default)s)")
    parser.add_argument("--clients", type=int, default=20, help="of a cluster (%(default)s)")
    parser.add_argument(
        "--rolling", type=int, metavar="N", help="of a cluster: restart all N times"
    )
    args = parser.parse_args()
    if args.attacks is not None:
        outcomes = asyncio.run(attack(args.attacks))
        return 1 if any(outcome.faults for outcome in outcomes) else 0
    seed = args.seed if args.seed is not None else Random().randrange(1 << 32)
    if args.cluster and args.rolling is not None:
        from soak.rolling import run_rolling

        return run_rolling(args.rolling, args.clients, seed)
    if args.cluster:
        # Needs servers and their client, which one host does without.
        from soak.cluster.run import run_cluster

        return run_cluster(args.faults, args.clients, seed)
    print(f"seed {seed}, {args.rounds} rounds", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="agenthost-soak-"))
    rounds = asyncio.run(soak(directory / "data", args.rounds, Random(seed)))
    verdict = check_file(directory / "data" / STORE_FILE)
    lost = sum(len(round.findings.losses) for round in rounds)
    faults = sum(len(round.findings.faults) for round in rounds)
    print(summary(rounds, lost, faults), f"database: {verdict}", sep="\n")
    if lost or faults or verdict != "ok":
        print(f"the data is kept in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


async def soak(data_dir: Path, count: int, random: Random) -> list[Round]:
    """Play the rounds, telling of each."""
    run = Run(data_dir, random)
    rounds: list[Round] = []
    try:
        await run.start()
        for number in range(1, count + 1):
            rounds.append(await run.play(number))
            print(rounds[-1], flush=True)
            for problem in (*rounds[-1].findings.losses, *rounds[-1].findings.faults)[:MOST_SHOWN]:
                print(f"  {problem}", flush=True)
        await run.close()
    finally:
        await run.kill()
    return rounds


def summary(rounds: list[Round], lost: int, faults: int) -> str:
    """Say in one line what all rounds came to."""
    seen = sum(round.findings.seen for round in rounds)
    replays = sum(round.findings.replays for round in rounds)
    snapshots = sum(round.findings.snapshots for round in rounds)
    startups = sum(round.killed_startups for round in rounds)
    return (
        f"{len(rounds)} rounds, {startups} start-ups killed besides: {seen} changes seen, "
        f"{replays + snapshots} clients resumed ({replays} by replay, {snapshots} by snapshots), "
        f"{lost} losses, {faults} faults"
    )


def check_file(path: Path) -> str:
    """Let SQLite look at every page of the database."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
    return str(verdict)


sys.exit(main())
