"""A rolling restart of three nodes while people work: they reconnect, and notice nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak.cluster.ground import ground
from soak.rolling import Office, at_work, restarted_in_turn

pytestmark = pytest.mark.timeout(300)


async def test_nobody_sees_an_error_while_all_nodes_are_restarted_in_turn(tmp_path: Path) -> None:
    async with ground(tmp_path) as running:
        office = Office(running.nodes)
        async with at_work(office, 4):
            await restarted_in_turn(office)
    assert office.errors == []
    assert office.returns > 0
    assert office.done["turns"] > 9
