"""A short run of the cluster's soak: some faults, and nothing is wrong afterwards."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from soak.cluster import ground
from soak.cluster import run as run_module
from soak.cluster.run import play

CLIENTS = 6
FAULTS = (ground.pause_node, ground.kill_node, ground.kill_server)


async def test_nodes_and_servers_fail_and_nothing_is_lost_or_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ground, "LONGEST_ABSENCE", 1.0)
    monkeypatch.setattr(run_module, "LONGEST_CALM", 1.0)
    assert await play(tmp_path, FAULTS, CLIENTS, Random(16)) == []
    told = capsys.readouterr().out
    assert "0 lost, 0 doubled" in told
    assert "writes of former owners were refused by the servers" in told
