"""Folders that sessions use together: read once, watched while somebody uses them, never noisy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from agenthost.errors import PermissionDenied
from agenthost.host.customizations.folder_readings import (
    FolderKey,
    FolderReading,
    FolderReadings,
)
from agenthost.tasks import Tasks
from agenthost.workspace.watching import FileWatcher
from tests.customizations.repository import write_files

SKILL = ".agents/skills/review/SKILL.md"
TEXT = "---\nname: review\ndescription: d\n---\n"


class Readings:
    """Folders to be read, and what was told of them."""

    def __init__(self, roots: Sequence[str] = (), *, watches: bool = True) -> None:
        self.tasks = Tasks()
        self.watcher = FileWatcher()
        self._watches = watches
        self.told: asyncio.Queue[FolderReading] = asyncio.Queue()
        self.all = FolderReadings(
            self.tasks, self._give, self.told.put_nowait, roots=roots, denied=()
        )

    def _give(self) -> FileWatcher:
        if not self._watches:
            raise PermissionDenied("the host cannot watch files")
        return self.watcher

    async def close(self) -> None:
        self.all.close()
        await self.tasks.close()
        self.watcher.close()


@pytest.fixture
async def readings() -> AsyncIterator[Readings]:
    made = Readings()
    yield made
    await made.close()


def names(reading: FolderReading) -> list[str]:
    return [found.name for source in reading.sources for found in source.found]


async def test_one_folder_is_read_once_for_all_and_let_go_with_the_last(
    readings: Readings, tmp_path: Path
) -> None:
    write_files(tmp_path, {SKILL: TEXT})
    key = FolderKey("workspace", tmp_path.as_uri())
    one = readings.all.use(key, "s1")
    assert readings.all.use(key, "s2") is one
    assert await readings.told.get() is one
    assert names(one) == ["review"]
    assert readings.watcher.folders > 0
    readings.all.leave(one, "s1")
    assert len(readings.all) == 1
    readings.all.leave(one, "s2")
    assert len(readings.all) == 0
    # What is let go of is told no more.
    write_files(tmp_path, {SKILL: TEXT.replace("review", "other")})
    two = readings.all.use(key, "s3")
    assert await readings.told.get() is two
    assert names(two) == ["other"]
    assert readings.told.empty()


async def test_a_place_that_is_made_later_is_watched_from_then_on(
    readings: Readings, tmp_path: Path
) -> None:
    reading = readings.all.use(FolderKey("workspace", tmp_path.as_uri()), "s")
    await readings.told.get()
    write_files(tmp_path, {SKILL: TEXT})
    await readings.told.get()
    assert names(reading) == ["review"]
    write_files(tmp_path, {SKILL: TEXT.replace("review", "other")})
    await readings.told.get()
    assert names(reading) == ["other"]


@pytest.mark.parametrize("shape", ["missing", "file"])
async def test_a_person_without_a_folder_brings_nothing_and_nobody_hears_of_it(
    readings: Readings, tmp_path: Path, shape: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    folder = tmp_path / "own"
    if shape == "file":
        folder.touch()
    reading = readings.all.use(FolderKey("user", folder.as_uri()), "s")
    await readings.told.get()
    assert reading.sources == ()
    assert not caplog.records
    # A turn finds it when it is there.
    folder.unlink(missing_ok=True)
    write_files(folder, {"skills/review/SKILL.md": TEXT})
    await reading.freshen()
    assert names(reading) == ["review"]


@pytest.mark.parametrize("shape", ["missing", "file"])
async def test_a_plugin_that_is_none_says_so(
    readings: Readings, tmp_path: Path, shape: str
) -> None:
    folder = tmp_path / "own"
    if shape == "file":
        folder.touch()
    reading = readings.all.use(FolderKey("plugin", folder.as_uri()), "s")
    await readings.told.get()
    [source] = reading.sources
    assert (source.load, source.name) == ("error", "own")


async def test_what_cannot_be_watched_is_read_when_a_turn_begins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    readings = Readings(watches=False)
    try:
        reading = readings.all.use(FolderKey("workspace", tmp_path.as_uri()), "s")
        await readings.told.get()
        for name in ("review", "other"):
            write_files(tmp_path, {SKILL: TEXT.replace("review", name)})
            await reading.freshen()
            assert names(reading) == [name]
        # Said once, however often it is so.
        assert len(caplog.records) == 1
    finally:
        await readings.close()


async def test_a_link_that_leads_elsewhere_is_told_though_the_same_is_declared_there(
    tmp_path: Path,
) -> None:
    for name in "ab":
        write_files(tmp_path / name, {SKILL: TEXT})
    link = tmp_path / "link"
    link.symlink_to("a")
    readings = Readings(watches=False)
    try:
        reading = readings.all.use(FolderKey("workspace", link.as_uri()), "s")
        assert (await readings.told.get()).real == str(tmp_path / "a")
        link.unlink()
        link.symlink_to("b")
        await reading.freshen()
        assert readings.told.get_nowait().real == str(tmp_path / "b")
        await reading.freshen()
        assert readings.told.empty()
    finally:
        await readings.close()


async def test_a_folder_that_leads_out_of_the_hosts_brings_nothing(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    write_files(outside, {SKILL: TEXT})
    (inside / "link").symlink_to(outside)
    readings = Readings([str(inside)])
    try:
        uri = (inside / "link").as_uri()
        for confined, expected in ((True, []), (False, ["review"])):
            reading = readings.all.use(FolderKey("workspace", uri, confined), "s")
            await readings.told.get()
            assert names(reading) == expected
    finally:
        await readings.close()
