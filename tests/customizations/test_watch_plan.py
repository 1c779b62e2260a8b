"""What is watched, with a real watcher on a real repository."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agenthost.customizations.places import WORKSPACE_PLACES
from agenthost.customizations.watch_plan import user_watch_plan, watch_plan, watched_paths
from agenthost.workspace.globs import Globs
from agenthost.workspace.roots import Roots
from agenthost.workspace.tree_watch import TreeWatch
from agenthost.workspace.watching import FileWatcher
from tests.customizations.repository import GOOD, make_good_repository, write_files
from tests.workspace.telling import Told

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches need Linux")

# What nobody customizes anything with, and what may change all the time.
ELSEWHERE = {
    "src/main.py": "x",
    ".github/workflows/ci.yml": "x",
    ".claude/worktrees/one/AGENTS.md": "x",
    ".vscode/settings.json": "x",
    ".agents/skills/review/data/deep/file.txt": "x",
    ".agents/skills/review/notes.md": "x",
    ".agents/plugins/tools/node_modules/x/index.js": "x",
    "README.md": "x",
}


@pytest.fixture
async def watcher() -> AsyncIterator[FileWatcher]:
    watcher = FileWatcher()
    yield watcher
    watcher.close()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = make_good_repository(tmp_path.resolve() / "repository")
    write_files(folder, ELSEWHERE)
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    return tmp_path.resolve()


class Watched:
    """All watches of a plan, and what they have told, relative to the repository."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._roots = Roots([folder])
        self.told: dict[str, Told] = {}
        self.watches: list[TreeWatch] = []

    async def begin(self, watcher: FileWatcher) -> None:
        for rule in watch_plan():
            path = self._folder / rule.folder
            if rule.folder in self.told or not path.is_dir():
                continue
            told = self.told[rule.folder] = Told()
            with self._roots.walk(path) as place:
                self.watches.append(
                    await watcher.watch(
                        place,
                        told,
                        recursive=rule.recursive,
                        includes=rule.includes,
                        excludes=rule.excludes,
                    )
                )

    async def until_told(self, path: str) -> None:
        folder = max((one for one in self.told if not one or path.startswith(f"{one}/")), key=len)
        inside = path.removeprefix(f"{folder}/") if folder else path
        await self.told[folder].until(lambda: inside in self.told[folder].paths)

    @property
    def paths(self) -> set[str]:
        return {
            f"{folder}/{path}".strip("/")
            for folder, told in self.told.items()
            for path in told.paths
        }


# Its folder would have to be searched for whenever anything changes.
NESTED = {"web/AGENTS.md"}
SEEN = [path for path in GOOD if path not in NESTED and not path.endswith("checklist.md")]


async def test_every_customization_that_changes_is_told(
    repository: Path, watcher: FileWatcher
) -> None:
    watched = Watched(repository)
    await watched.begin(watcher)
    for path in SEEN:
        (repository / path).write_text("changed")
    for path in SEEN:
        await watched.until_told(path)


async def test_what_changes_elsewhere_is_not_told(repository: Path, watcher: FileWatcher) -> None:
    watched = Watched(repository)
    await watched.begin(watcher)
    for path in ELSEWHERE:
        (repository / path).write_text("changed")
    # What changes last in each folder that is watched is told last.
    for path in SEEN:
        (repository / path).write_text("changed")
    for path in SEEN:
        await watched.until_told(path)
    assert watched.paths == set(SEEN)


async def test_little_is_watched_of_a_large_repository(
    repository: Path, watcher: FileWatcher
) -> None:
    write_files(repository, {f"src/p{number}/x.py": "" for number in range(300)})
    write_files(repository, {f".claude/worktrees/w{number}/x.py": "" for number in range(300)})
    deep = ".agents/skills/review/data"
    write_files(repository, {f"{deep}/{number}/deeper/x": "" for number in range(300)})
    watched = Watched(repository)
    await watched.begin(watcher)
    assert sum(watch.entered for watch in watched.watches) < 60


async def test_a_folder_that_is_made_later_is_told_by_the_one_above(
    empty: Path, watcher: FileWatcher
) -> None:
    watched = Watched(empty)
    await watched.begin(watcher)
    assert set(watched.told) == {""}
    write_files(empty, {".agents/skills/x/SKILL.md": "x"})
    await watched.until_told(".agents")
    await watched.begin(watcher)
    assert set(watched.told) == {"", ".agents", ".agents/skills"}
    (empty / ".agents/skills/x/SKILL.md").write_text("changed")
    await watched.until_told(".agents/skills/x/SKILL.md")


async def test_a_skill_that_is_removed_with_its_folder_is_told(
    repository: Path, watcher: FileWatcher
) -> None:
    watched = Watched(repository)
    await watched.begin(watcher)
    (repository / ".agents/skills/review").rename(repository / "elsewhere")
    await watched.until_told(".agents/skills/review/SKILL.md")


def test_the_globs_match_everything_that_is_read_and_nothing_else() -> None:
    globs = Globs(watched_paths())
    assert [path for path in SEEN if not globs.match(path)] == []
    read = {path for path in ELSEWHERE if globs.match(path)}
    assert read == {".agents/plugins/tools/node_modules/x/index.js"}


def test_every_place_of_a_table_has_a_rule() -> None:
    folders = {rule.folder for rule in watch_plan()}
    assert {place.folder for place in WORKSPACE_PLACES.folders} <= folders
    assert {"", ".github", ".agents", ".claude", ".vscode", ".cursor"} <= folders


def test_a_persons_own_folder_is_watched_by_its_own_table() -> None:
    rules = {rule.folder: rule for rule in user_watch_plan()}
    assert "AGENTS.md" in (rules[""].includes or ())
    assert rules["skills"].recursive
    assert ".github" not in rules
