"""Appends that need no owner: what a front keeps of its clients, and what all nodes share."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenthost.cluster.commits import Commit, encode_commit
from agenthost.cluster.units import MISC
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cluster.commits import RealmWrite
    from agenthost.cluster.copy import LocalCopy
    from agenthost.cluster.realm import Appender

log = logging.getLogger(__name__)

# Ticks of a front whose writes wait: one that the realm takes nothing from keeps no more.
_MOST_WAITING = 10_000
# Seconds that an append of this node's own takes at most to be read back.
_READ_BACK_SECONDS = 10.0


class FreeAppends:
    """What one node appends to the unit that is nobody's."""

    def __init__(self, appender: Appender, copy: LocalCopy, node: str) -> None:
        self._appender = appender
        self._copy = copy
        self._node = node
        self._waiting: list[tuple[RealmWrite, ...]] = []
        self._has_some = asyncio.Event()

    def later(self, writes: Sequence[RealmWrite]) -> None:
        """Append these in order, in their own time; without any an empty message."""
        if len(self._waiting) >= _MOST_WAITING:
            log.warning("what clients last saw is not kept for now: the realm takes nothing")
            return
        self._waiting.append(tuple(writes))
        self._has_some.set()

    async def now(self, writes: Sequence[RealmWrite]) -> None:
        """Append these, and wait until they can be read here.

        Raises:
            AgentHostError, TimeoutError: the realm does not take them, or not in time.
        """
        await self._append(tuple(writes))
        async with asyncio.timeout(_READ_BACK_SECONDS):
            await self._copy.caught_up()

    async def run(self) -> None:
        """Append what is left to be done, for as long as the node lives."""
        task = asyncio.current_task()
        # On Python 3.11 `wait_for`, by which nats-py waits, loses a cancel that comes together with
        # an answer.
        while task is None or not task.cancelling():
            await self._has_some.wait()
            self._has_some.clear()
            gathered, self._waiting = self._waiting, []
            try:
                await self._append(tuple(write for each in gathered for write in each))
            except AgentHostError as error:
                log.warning("what clients last saw was not kept: %s", error)

    async def _append(self, writes: tuple[RealmWrite, ...]) -> None:
        commit = Commit(secrets.token_hex(8), MISC, self._node, writes)
        await self._appender.append(MISC, encode_commit(commit), commit.id, None)
