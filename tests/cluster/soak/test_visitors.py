"""The clients of the soak, on one plain host that is killed under them: nothing is wrong there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from soak.cluster.activity import Stage, keep_busy
from soak.cluster.ground import Ground, Node
from soak.cluster.history import History
from soak.cluster.run import judge
from soak.cluster.visitor import Memory
from soak.cluster.worker import DEEDS_VARIABLE
from tests.cluster.servers import Servers

KILLS = 2
VERSIONS = ("1.0.0", "1.0.0", "0.7.0")


async def test_a_host_that_is_killed_loses_nothing_and_the_checker_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deeds = tmp_path / "deeds"
    deeds.touch()
    monkeypatch.setenv(DEEDS_VARIABLE, str(deeds))
    node = Node("single", tmp_path)
    ground = Ground(Servers([]), [node], deeds)
    await node.start()
    try:
        stage = Stage(Random(7), History(), ground.urls)
        memories = [
            Memory(f"client {number}", version, stage.history)
            for number, version in enumerate(VERSIONS)
        ]
        busy = [asyncio.create_task(keep_busy(stage, memory)) for memory in memories]
        for wanted in range(1, KILLS + 1):
            while stage.done["start_turn"] < 4 * wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await node.kill()
            await node.start()
            await ground.recovered()
        stage.over = True
        await asyncio.gather(*busy)
        await judge(ground, stage, memories)
    finally:
        if node.host.running:
            await node.host.kill()
    assert [*stage.history.faults, *stage.faults, *node.complaints] == []
    assert all(outcome.accepted or outcome.refused for outcome in stage.history.outcomes.values())
    assert sum(memory.replays + memory.snapshots for memory in memories) >= KILLS
