"""One round: clients come and go, everybody is busy, the host dies, comes back and is audited."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from agenthost.protocol import SUPPORTED_VERSIONS
from soak.activity import Stage, keep_busy
from soak.audit import Findings, audit, check_mirror
from soak.witness import Witness, open_witness
from tests.wire.client import ROOT
from tests.wire.hosting import ServedHost, start_serve

__all__ = ["Round", "Run"]

MOST_CLIENTS = 5
# Seconds of activity at most, and of a start-up that is killed: about as long as one takes.
LONGEST_ACTIVITY = 1.5
LONGEST_STARTUP = 0.5


@dataclass
class Round:
    """What happened in one round."""

    number: int
    versions: list[str]
    seconds: float
    clean: bool
    killed_startups: int = 0
    findings: Findings = field(default_factory=Findings)

    def __str__(self) -> str:
        end = "stopped" if self.clean else "killed"
        start = f", {self.killed_startups} start-ups killed" if self.killed_startups else ""
        found = self.findings
        return (
            f"round {self.number}: {' '.join(self.versions)}; {end} after {self.seconds:.3f} s"
            f"{start}; {found.seen} changes seen, {found.replays} replays, "
            f"{found.snapshots} snapshots; {len(found.losses)} lost, {len(found.faults)} faults"
        )


class Run:
    """Rounds on the same data, with clients that outlive the host."""

    def __init__(self, data_dir: Path, random: Random) -> None:
        self._random = random
        self._data_dir = data_dir
        self._host = ServedHost(data_dir)
        self._stage = Stage(random)
        # Clients that are connected, and those that may come back some day.
        self._present: list[Witness] = []
        self._away: list[Witness] = []
        self._names = 0

    async def start(self) -> None:
        """Start the host and create the first session."""
        await self._start_host()
        witness = await self._newcomer()
        session = "ahp-session:/first"
        self._stage.chats[session] = await witness.ready_session(session)
        self._present.append(witness)

    async def play(self, number: int) -> Round:
        """Play one round and return what came of it."""
        random, stage = self._random, self._stage
        entering = Findings()
        await self._change_cast(entering)
        stage.streamed.clear()
        stage.faults.clear()
        stage.over = False
        versions = [witness.version for witness in self._present]
        round = Round(number, versions, random.uniform(0, LONGEST_ACTIVITY), random.random() < 0.1)
        busy = [asyncio.create_task(keep_busy(stage, witness)) for witness in self._present]
        await asyncio.sleep(round.seconds)
        stage.over = True
        await (self._host.stop() if round.clean else self._host.kill())
        formers = list(await asyncio.gather(*busy))
        for former in formers:
            await former.close()
        self._check_output(round.clean)
        round.killed_startups = await self._start_host()
        self._present, round.findings = await audit(stage.url, formers, at_rest=round.clean)
        round.findings.losses += entering.losses
        round.findings.faults += stage.faults + entering.faults
        return round

    async def close(self) -> None:
        """Let everybody go and stop the host."""
        self._stage.over = True
        for witness in self._present:
            await witness.close()
        if self._host.running:
            await self._host.stop()

    async def kill(self) -> None:
        """End the host, whatever state it is in."""
        if self._host.running:
            await self._host.kill()

    async def _start_host(self) -> int:
        """Start the host, after killing it during its start-up a few times or never."""
        killed = 0
        while self._random.random() < 0.25:
            options = ("--port", "0", "--data-dir", str(self._data_dir))
            process = await start_serve(*options)
            await asyncio.sleep(self._random.uniform(0, LONGEST_STARTUP))
            process.kill()
            await process.communicate()
            killed += 1
        durability = self._random.choice(("normal", "normal", "full"))
        await self._host.start("--durability", durability)
        self._stage.url = self._host.url
        return killed

    def _check_output(self, clean: bool) -> None:
        output = self._host.output
        if "Traceback" in output or " ERROR " in output:
            self._stage.faults.append(f"the host complained:\n{output}")
        if clean and self._host.exit_code != 0:
            self._stage.faults.append(f"the host stopped with {self._host.exit_code}")

    async def _change_cast(self, findings: Findings) -> None:
        """Let some clients leave, some come back, and some appear."""
        random = self._random
        random.shuffle(self._present)
        for _ in range(random.randint(0, len(self._present))):
            witness = self._present.pop()
            witness.forget_disposed()
            await witness.close()
            self._away.append(witness)
        wanted = random.randint(1, MOST_CLIENTS)
        random.shuffle(self._away)
        while len(self._present) < wanted:
            if self._away and random.random() < 0.5:
                witness = await self._returner(self._away.pop(), findings)
            else:
                witness = await self._newcomer()
            self._present.append(witness)

    async def _newcomer(self) -> Witness:
        self._names += 1
        version = self._random.choice(SUPPORTED_VERSIONS)
        witness = await open_witness(self._stage.url, f"client {self._names}", version)
        await witness.initialize(ROOT)
        return witness

    async def _returner(self, former: Witness, findings: Findings) -> Witness:
        witness = await open_witness(self._stage.url, former.client_id, former.version)
        await witness.resume(former)
        await check_mirror(witness, findings)
        # What it caught up with has been audited when others saw it.
        witness.seen.clear()
        return witness
