"""How many folders are watched, for whom, and who has to wait for it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agenthost.workspace import change_batches, time_slices
from agenthost.workspace.change_batches import FileChange
from agenthost.workspace.roots import Roots
from tests.flags import eventually
from tests.workspace.telling import Told, watch

if sys.platform != "linux":
    pytest.skip("watches need Linux", allow_module_level=True)

from agenthost.workspace.tree_watch import TreeWatch
from agenthost.workspace.watching import FileWatcher, TooManyFolders


async def test_a_closed_watch_holds_nothing(watcher: FileWatcher, root: Path) -> None:
    for number in range(20):
        (root / str(number) / "deep").mkdir(parents=True)
    descriptors = len(os.listdir("/proc/self/fd"))
    watches = [(await watch(watcher, root))[0] for _ in range(3)]
    assert watcher.folders == 42
    assert len(os.listdir("/proc/self/fd")) == descriptors
    for made in watches:
        made.close()
    await eventually(lambda: watcher.folders == 0)


async def test_others_have_their_turn_while_a_large_tree_is_looked_into(
    watcher: FileWatcher, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        for below in range(20):
            (root / str(number) / str(below)).mkdir(parents=True)
    # How much a turn gets done is up to the machine: so little that there must be many of them.
    monkeypatch.setattr(time_slices, "SLICE", 0.0001)
    seen = set()

    async def look_on() -> None:
        while True:
            await asyncio.sleep(0)
            seen.add(watcher.folders)

    looking = asyncio.create_task(look_on())
    await watch(watcher, root)
    looking.cancel()
    assert watcher.folders == 2102
    assert len(seen) > 100


async def test_too_many_folders_are_refused_and_leave_nothing(root: Path) -> None:
    for number in range(20):
        (root / str(number)).mkdir()
    watcher = FileWatcher(most_folders=10)
    with pytest.raises(TooManyFolders, match="10 folders"):
        await watch(watcher, root)
    await eventually(lambda: watcher.folders == 0)
    _, told = await watch(watcher, root, recursive=False)
    (root / "x").write_text("")
    await told.tells(("x", "added"))
    watcher.close()


async def test_a_tree_counts_as_often_as_it_is_watched(root: Path) -> None:
    for number in range(4):
        (root / str(number)).mkdir()
    watcher = FileWatcher(most_folders=10)
    first, _ = await watch(watcher, root)
    await watch(watcher, root)
    with pytest.raises(TooManyFolders):
        await watch(watcher, root)
    first.close()
    # There is room at once for whoever comes next.
    await watch(watcher, root)
    watcher.close()


async def test_a_watch_that_is_closed_over_what_it_tells_takes_no_room(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while a folder is being looked into, of which the rest is still to come."""
    monkeypatch.setattr(change_batches, "MOST_WAITING", 5)
    watcher = FileWatcher(most_folders=40)
    closed = asyncio.Event()

    def close(batch: Sequence[FileChange]) -> None:
        made.close()
        closed.set()

    with Roots([root.parent]).walk(root) as place:
        made = await watcher.watch(place, close, recursive=True)
    for number in range(30):
        (root.parent / "out" / "many" / str(number)).mkdir(parents=True)
    (root.parent / "out" / "many").rename(root / "many")
    await closed.wait()
    await eventually(lambda: watcher.folders == 0)
    await watch(watcher, root)
    watcher.close()


async def test_half_of_the_folders_are_one_holder_s_at_most(root: Path) -> None:
    for number in range(5):
        (root / str(number)).mkdir()
    watcher = FileWatcher(most_folders=12)

    async def hold(holder: str | None) -> TreeWatch:
        with Roots([root.parent]).walk(root) as place:
            return await watcher.watch(place, Told(), recursive=True, holder=holder)

    first = await hold("a")
    with pytest.raises(TooManyFolders, match="you may watch 6 folders"):
        await hold("a")
    await hold("b")
    first.close()
    await hold("a")
    with pytest.raises(TooManyFolders, match="no more than 12 folders"):
        await hold(None)
    watcher.close()
