"""Files found by letters of their paths, in real folders and repositories."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agenthost.workspace import file_index
from agenthost.workspace.file_index import FileIndex, FileIndexes, FoundPath, index_folder
from agenthost.workspace.file_trees import unfinished_name
from agenthost.workspace.roots import Roots
from tests.flags import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="walks need Linux")


@pytest.fixture(autouse=True)
def _real_repositories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_DIR")


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True)


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def paths_of(folder: Path) -> set[str]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return {found.path for found in index_folder(descriptor).search("", 1000)}
    finally:
        os.close(descriptor)


def test_what_git_ignores_is_left_out_and_the_rest_is_there(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    fill(tmp_path, "src/a.py", "src/deep/b.py", "build/out.o", ".gitignore", "gone", "ä b")
    (tmp_path / ".gitignore").write_text("build\n*.pyc\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "1")
    fill(tmp_path, "src/untracked.py", "src/a.pyc", "line\nbreak", "bell\a")
    (tmp_path / "gone").unlink()
    (tmp_path / os.fsdecode(b"no-utf-\xff")).write_text("")
    (tmp_path / unfinished_name("a")).write_text("")
    assert paths_of(tmp_path) == {
        ".gitignore", "src", "src/a.py", "src/deep", "src/deep/b.py", "src/untracked.py", "ä b",
    }  # fmt: skip
    # A folder inside of the repository tells of itself alone.
    assert paths_of(tmp_path / "src") == {"a.py", "deep", "deep/b.py", "untracked.py"}


def test_without_git_what_programs_made_is_left_out(tmp_path: Path) -> None:
    fill(tmp_path, "a", "d/e/f", "node_modules/x/y", "d/__pycache__/z", ".venv/bin/python")
    (tmp_path / "empty").mkdir()
    (tmp_path / "d" / "away").symlink_to("/etc")
    (tmp_path / "d" / "link").symlink_to("e/f")
    assert paths_of(tmp_path) == {"a", "d", "d/e", "d/e/f", "d/link", "empty"}


def test_a_repository_that_claims_another_folder_shows_nothing_of_it(tmp_path: Path) -> None:
    folder, out = tmp_path / "folder", tmp_path / "out"
    fill(out, "secret")
    fill(folder, "mine", "deep/mine")
    git(folder, "init", "-q")
    git(folder, "config", "core.worktree", str(out))
    assert paths_of(folder) == {"mine", "deep", "deep/mine"}
    git(folder, "config", "core.worktree", str(tmp_path))
    assert paths_of(folder) == {"mine", "deep", "deep/mine"}
    assert paths_of(folder / "deep") == {"mine"}


def test_looking_runs_no_program_that_a_repository_names(tmp_path: Path) -> None:
    folder, trace = tmp_path / "folder", tmp_path / "trace"
    fill(folder, "a")
    git(folder, "init", "-q")
    git(folder, "add", "a")
    git(folder, "config", "core.fsmonitor", f"touch {trace};")
    git(folder, "config", "filter.spy.clean", f"touch {trace}; cat")
    fill(folder, ".gitattributes")
    (folder / ".gitattributes").write_text("* filter=spy\n")
    fill(folder, "a")
    assert paths_of(folder) == {"a", ".gitattributes"}
    assert not trace.exists()


def test_a_deep_or_huge_tree_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / Path(*["n"] * 300)).mkdir(parents=True)
    assert len(paths_of(tmp_path)) < 100
    fill(tmp_path, *(str(number) for number in range(50)))
    monkeypatch.setattr(file_index, "MOST_SCANNED", 10)
    assert len(paths_of(tmp_path)) <= 10


def test_files_and_folders_are_told_apart() -> None:
    index = FileIndex(["src/chat/a.py", "chat.py", "inner/", "../out", "/abs"])
    assert index.search("chat", 9) == [
        FoundPath("chat.py", is_folder=False),
        FoundPath("src/chat", is_folder=True),
        FoundPath("src/chat/a.py", is_folder=False),
    ]
    assert index.search("inner", 9) == [FoundPath("inner", is_folder=True)]
    assert {found.path for found in index.search("", 9)} == {
        "src", "src/chat", "src/chat/a.py", "chat.py", "inner",
    }  # fmt: skip


class Indexes:
    """Indexes of folders below one root, with a clock that stands still."""

    def __init__(self, root: Path, most: int = 8) -> None:
        self.now = 0.0
        self.root = root
        self.roots = Roots([root])
        self.indexes = FileIndexes(most=most, monotonic=lambda: self.now)

    async def search(self, query: str, folder: str = "") -> set[str]:
        with self.roots.walk(self.root / folder) as place:
            return {found.path for found in await self.indexes.search(place, query, 50)}

    async def comes(self, path: str) -> None:
        """Search until the background has done its work."""
        while path not in await self.search(path):
            pass


async def test_an_answer_is_given_at_once_and_is_new_after_a_while(tmp_path: Path) -> None:
    fill(tmp_path, "a")
    indexes = Indexes(tmp_path)
    assert await indexes.search("a") == {"a"}
    fill(tmp_path, "ab")
    assert await indexes.search("a") == {"a"}
    indexes.now = 11.0
    # The old answer first.
    assert await indexes.search("a") == {"a"}
    await indexes.comes("ab")
    await indexes.indexes.close()


async def test_many_who_ask_at_once_wait_for_one_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, "a")
    made: list[int] = []

    def counted(descriptor: int) -> FileIndex:
        made.append(descriptor)
        return index_folder(descriptor)

    monkeypatch.setattr(file_index, "index_folder", counted)
    indexes = Indexes(tmp_path)
    leaving = asyncio.ensure_future(indexes.search("a"))
    others = [asyncio.ensure_future(indexes.search("a")) for _ in range(5)]
    await asyncio.sleep(0)
    leaving.cancel()
    assert await asyncio.gather(*others) == [{"a"}] * 5
    assert len(made) == 1
    await indexes.indexes.close()


async def test_only_the_folders_searched_last_are_kept(tmp_path: Path) -> None:
    fill(tmp_path, "one/a", "two/b", "three/c")
    indexes = Indexes(tmp_path, most=2)
    for folder in ("one", "two", "one", "three"):
        await indexes.search("", folder)
    fill(tmp_path, "one/later", "two/later")
    # Kept, so old; dropped, so new.
    assert await indexes.search("later", "one") == set()
    assert await indexes.search("later", "two") == {"later"}
    await indexes.indexes.close()


async def test_what_is_no_folder_is_refused_again_and_again(tmp_path: Path) -> None:
    fill(tmp_path, "file")
    indexes = Indexes(tmp_path)
    for _ in range(2):
        with pytest.raises(NotADirectoryError):
            await indexes.search("a", "file")
    await indexes.indexes.close()


async def test_a_disk_that_hangs_holds_few_threads_of_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, begun = threading.Event(), []

    def hang(descriptor: int) -> FileIndex:
        begun.append(descriptor)
        may_end.wait()
        return FileIndex(["a"])

    monkeypatch.setattr(file_index, "index_folder", hang)
    monkeypatch.setattr(file_index, "MOST_TO_BE_MADE", 5)
    indexes = Indexes(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(6):
        (tmp_path / f"d{number}").mkdir()
    searches = [asyncio.create_task(indexes.search("a", f"d{number}")) for number in range(5)]
    await eventually(lambda: len(begun) == file_index.MOST_MADE)
    # No more wait for their turn than that, and whoever shares the other threads waits for none.
    with pytest.raises(BlockingIOError):
        await indexes.search("a", "d5")
    assert await asyncio.to_thread(lambda: "done") == "done"
    assert len(begun) == file_index.MOST_MADE
    closing = asyncio.create_task(indexes.indexes.close())
    may_end.set()
    await closing
    await asyncio.gather(*searches, return_exceptions=True)
    # Those whose turn never came are let go of, too.
    await eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


def test_a_folder_that_takes_too_long_is_known_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, "a", "d/b", "d/e/c")
    monkeypatch.setattr(file_index, "SCAN_SECONDS", -1.0)
    assert paths_of(tmp_path) == {"a"}
