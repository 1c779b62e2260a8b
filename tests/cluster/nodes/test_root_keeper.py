"""Keeping the root channel ends when it is told to, whatever comes at the same moment."""

from __future__ import annotations

import asyncio
from unittest.mock import AsyncMock, MagicMock

from agenthost.clock import SystemClock
from agenthost.cluster.nodes.root_keeper import RootKeeper
from tests.flags import eventually


class Idle(RootKeeper):
    """Has nothing to write."""

    _bring_up = AsyncMock()


async def test_news_that_comes_with_the_end_does_not_keep_it_going() -> None:
    copy, nodes = MagicMock(), MagicMock()
    copy.reached, copy.store.count_sessions = AsyncMock(), AsyncMock(return_value=0)
    keeper = Idle(copy, nodes, SystemClock(), build={}, flags={})
    # As `Nodes` calls it when a node has changed.
    [[tell_of_news], _] = nodes.on_change.call_args
    for turns in range(4):
        keeper.is_kept = False
        keeping = asyncio.create_task(keeper.keep(MagicMock()))
        tell_of_news()
        await eventually(lambda: keeper.is_kept)
        await asyncio.sleep(0.01)
        tell_of_news()
        for _ in range(turns):
            await asyncio.sleep(0)
        keeping.cancel()
        await asyncio.wait({keeping}, timeout=5)
        assert keeping.cancelled()
