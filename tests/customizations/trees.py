"""Trees in memory: what a client publishes, and what no folder of this machine would do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from agenthost.customizations.types import Tree
from agenthost.errors import NotFound


class MemoryTree:
    """Files by their paths, as a client would publish them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.asked: list[str] = []

    async def list(self, path: str) -> Sequence[tuple[str, bool]]:
        self.asked.append(path)
        before = f"{path}/" if path else ""
        below = [name.removeprefix(before) for name in self.files if name.startswith(before)]
        if not below:
            raise NotFound(path)
        return [(name.partition("/")[0], "/" in name) for name in dict.fromkeys(below)]

    async def read(self, path: str, most: int) -> bytes:
        self.asked.append(path)
        try:
            return self.files[path]
        except KeyError:
            raise NotFound(path) from None

    async def find(self, name: str) -> Sequence[str]:
        return []

    def below(self, path: str) -> Tree:
        before = f"{path}/"
        files = self.files.items()
        return MemoryTree(
            {name.removeprefix(before): data for name, data in files if name.startswith(before)}
        )


class HangingTree(MemoryTree):
    """One that never answers when it is asked for some paths."""

    def __init__(self, files: Mapping[str, bytes], *hanging: str) -> None:
        super().__init__(files)
        self._hanging = hanging

    async def list(self, path: str) -> Sequence[tuple[str, bool]]:
        await self._hang(path)
        return await super().list(path)

    async def read(self, path: str, most: int) -> bytes:
        await self._hang(path)
        return await super().read(path, most)

    async def _hang(self, path: str) -> None:
        if path in self._hanging:
            await asyncio.Event().wait()


class FailingTree(MemoryTree):
    """One that raises when it is asked for some paths."""

    def __init__(self, files: Mapping[str, bytes], failures: Mapping[str, Exception]) -> None:
        super().__init__(files)
        self._failures = failures

    async def list(self, path: str) -> Sequence[tuple[str, bool]]:
        self._fail(path)
        return await super().list(path)

    async def read(self, path: str, most: int) -> bytes:
        self._fail(path)
        return await super().read(path, most)

    def _fail(self, path: str) -> None:
        if path in self._failures:
            raise self._failures[path]
