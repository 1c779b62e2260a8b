"""What watches tell, for tests to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agenthost.workspace.change_batches import FileChange
from agenthost.workspace.roots import Roots

if TYPE_CHECKING:
    from agenthost.workspace.tree_watch import TreeWatch
    from agenthost.workspace.watching import FileWatcher


class Told:
    """What a watch has told so far."""

    def __init__(self) -> None:
        self.batches: list[list[FileChange]] = []
        self._news = asyncio.Event()

    def __call__(self, batch: Sequence[FileChange]) -> None:
        assert batch
        self.batches.append(list(batch))
        self._news.set()

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [(change.path, change.kind) for batch in self.batches for change in batch]

    @property
    def paths(self) -> set[str]:
        return {path for path, _ in self.changes}

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait for batches until something holds; the test's time limit is how long."""
        while not done():
            await self._news.wait()
            self._news.clear()

    async def tells(self, *expected: tuple[str, str]) -> None:
        """Wait until as many changes are told as expected; they must be just these."""
        await self.until(lambda: len(self.changes) >= len(expected))
        assert sorted(self.changes) == sorted(expected)
        self.batches.clear()


async def watch(
    watcher: FileWatcher,
    path: Path,
    *,
    recursive: bool = True,
    excludes: Sequence[str] = (),
    includes: Sequence[str] | None = None,
) -> tuple[TreeWatch, Told]:
    told = Told()
    with Roots([path.parent]).walk(path) as place:
        made = await watcher.watch(
            place, told, recursive=recursive, excludes=excludes, includes=includes
        )
    return made, told
