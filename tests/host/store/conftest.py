"""Both stores behind one face, so that one suite holds for them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from agenthost.host.store import Append, MemoryBacking, MemoryStore, SqliteStore, Store


class Site(Protocol):
    """A place where one store after the other runs."""

    def new(self) -> Store:
        """Make a store on what the last one left."""
        ...

    def crash(self) -> None:
        """End the open store as ``kill -9`` would."""
        ...


class MemorySite:
    def __init__(self) -> None:
        self.backing = MemoryBacking()

    def new(self) -> MemoryStore:
        return MemoryStore(self.backing)

    def crash(self) -> None:
        self.backing.crash()


class SqliteSite:
    """Crashes by going on with a copy: what a killed process leaves is the files as they are."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.runs = 0

    @property
    def path(self) -> Path:
        return self.directory / str(self.runs) / "store.db"

    def new(self) -> SqliteStore:
        return SqliteStore(self.path)

    def crash(self) -> None:
        before = self.path
        self.runs += 1
        self.path.parent.mkdir()
        for file in (before, before.with_name("store.db-wal")):
            shutil.copy(file, self.path.parent)


@pytest.fixture(params=["memory", "sqlite"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    return MemorySite() if request.param == "memory" else SqliteSite(tmp_path)


@pytest.fixture
async def store(site: Site) -> AsyncIterator[Store]:
    """An open store with the numbers up to 1000 reserved."""
    async with site.new() as store:
        await store.reserve(1000)
        yield store


def entry(seq: int, channel: str = "chat:/a", text: str = "") -> Append:
    """A log entry that can be told from others."""
    return Append(seq, channel, f"2026-01-01T00:00:{seq:02}Z", f"{text}{seq}".encode(), None)
