"""What a watch costs others who share its event loop: hostile patterns, deep trees."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agenthost.workspace.globs import Globs
from agenthost.workspace.roots import Roots

if sys.platform != "linux":
    pytest.skip("watches need Linux", allow_module_level=True)

from agenthost.workspace.watching import DEEPEST, FileWatcher
from tests.workspace.telling import Told


@asynccontextmanager
async def watching(root: Path) -> AsyncIterator[tuple[FileWatcher, Told]]:
    """Watch a folder and all below it."""
    watcher, told = FileWatcher(), Told()
    try:
        with Roots([root]).walk(root) as place:
            await watcher.watch(place, told, recursive=True)
        yield watcher, told
    finally:
        watcher.close()


async def test_patterns_that_take_long_stop_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        (tmp_path / f"old{number}").touch()
    match = Globs.match

    def match_slowly(globs: Globs, path: str) -> bool:
        time.sleep(0.004)
        return match(globs, path)

    monkeypatch.setattr(Globs, "match", match_slowly)
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    others = asyncio.create_task(take_turns())
    async with watching(tmp_path) as (_, told):
        assert turns >= 100
        for number in range(100):
            (tmp_path / f"new{number}").touch()
        turns = 0
        await told.until(lambda: len(told.paths) == 100)
        assert turns >= 100
    others.cancel()


async def test_far_below_nothing_is_watched(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * (DEEPEST + 5))
    deep.mkdir(parents=True)
    async with watching(tmp_path) as (watcher, told):
        # Those, the one that is watched, and the one that holds it.
        assert watcher.folders == DEEPEST + 2
        (deep / "f").touch()
        (tmp_path / "g").touch()
        await told.tells(("g", "added"))
