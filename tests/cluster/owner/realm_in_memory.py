"""A realm in memory with several nodes: real copies and owner stores over a log without servers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from agenthost.cluster.commits import Commit, CommitReader
from agenthost.cluster.copy import LocalCopy
from agenthost.cluster.owner.store import OwnerStore
from agenthost.cluster.realm.errors import Fenced
from tests.cluster.copy.hand_driven import HandDrivenRealm


class MemoryRealm:
    """The log, what each unit's last message is, and a gate that holds appends up."""

    def __init__(self, folder: Path) -> None:
        bases = folder / "bases"
        bases.mkdir()
        self._folder = folder
        self.log = HandDrivenRealm(bases)
        self.last: dict[str, int] = {}
        self.in_flight: set[tuple[str, str]] = set()
        # How many messages each append had.
        self.batches: list[tuple[str, ...]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        # Nodes whose appends do not get through, until they do.
        self.cut_off: dict[str, asyncio.Event] = {}

    def open(self) -> None:
        self.gate.set()

    async def append(
        self, unit: str, bodies: Sequence[bytes], commit_id: str, expected: int | None
    ) -> int:
        return await self.append_together([(unit, bodies, expected)], commit_id)

    async def append_together(
        self, parts: Sequence[tuple[str, Sequence[bytes], int | None]], commit_id: str
    ) -> int:
        node = commit_id.split(".")[0]
        flying = {(unit, node) for unit, _, _ in parts}
        assert not flying & self.in_flight, "a node has one message in flight per unit"
        self.in_flight |= flying
        try:
            await asyncio.sleep(0)
            await self.gate.wait()
            if node in self.cut_off:
                await self.cut_off[node].wait()
            for unit, _, expected in parts:
                if expected is not None and self.last.get(unit, 0) != expected:
                    raise Fenced(f"somebody else has written to {unit}")
            for unit, bodies, _ in parts:
                for body in bodies:
                    self.last[unit] = self.log.append_body(body)
            self.batches.append(tuple(unit for unit, _, _ in parts))
            return self.log.last
        finally:
            self.in_flight -= flying

    def commits(self, unit: str | None = None) -> list[Commit]:
        """All commits that the log has, or those of one unit."""
        reader = CommitReader()
        read = [reader.feed(body) for body in self.log.messages.values()]
        return [each for each in read if each is not None and unit in (None, each.unit)]

    async def copy(self, stack: AsyncExitStack, node: str) -> LocalCopy:
        """Open a node's copy."""
        copy = LocalCopy(self._folder / node, None, None, source=self.log)
        return await stack.enter_async_context(copy)

    async def store(self, stack: AsyncExitStack, node: str) -> OwnerStore:
        """Open a node's copy, and make its store."""
        return OwnerStore(await self.copy(stack, node), self, node)
