"""What the host does now and then by itself ends when the host does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agenthost.host.housekeeping import collect_drafts

PATIENCE = 10.0


# Loop iterations between the news of a setting and the end: each finds the news elsewhere.
@pytest.mark.parametrize("steps", range(6))
async def test_looking_for_drafts_ends_though_a_setting_changes_just_then(steps: int) -> None:
    changed: list[Callable[[object], None]] = []
    looked = asyncio.Event()

    async def look(seconds: float) -> None:
        looked.set()

    config = SimpleNamespace(
        on_change=lambda key, tell: changed.append(tell), seconds=lambda key: 3600.0
    )
    core = cast(
        "Any", SimpleNamespace(config=config, sessions=SimpleNamespace(collect_drafts=look))
    )
    collecting = asyncio.create_task(collect_drafts(core))
    await looked.wait()
    await asyncio.sleep(0)
    changed[0](None)
    for _ in range(steps):
        await asyncio.sleep(0)
    collecting.cancel()
    await asyncio.wait({collecting}, timeout=PATIENCE)
    has_ended = collecting.done()
    collecting.cancel()
    assert has_ended
