"""Staging and committing: as the user's own git would, and all or nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agenthost.workspace.git.operations import commit_changes, has_staged, stage
from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import Repository, find_repository
from tests.flags import eventually
from tests.workspace.git.repositories import commit, git, repository


@pytest.fixture(autouse=True)
def _identity(_real_repositories: None, tmp_path: Path) -> None:
    git(tmp_path, "config", "--global", "user.name", "a")
    git(tmp_path, "config", "--global", "user.email", "a@example.com")


async def found(folder: Path) -> Repository:
    result = await find_repository(GitProgram(), str(folder))
    assert result is not None
    return result


def hook(folder: Path, name: str, text: str) -> None:
    file = folder / ".git" / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def staged(folder: Path) -> list[str]:
    return git(folder, "diff", "--cached", "--name-only", "-z").split("\0")[:-1]


async def test_files_are_staged_by_name_and_no_others(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    (folder / "a").unlink()
    for name in ("*", "new\n", "-A", ":(top)", "other"):
        (folder / name).write_text("x\n")
    top = await found(folder)
    await stage(program, top, [])
    assert not await has_staged(program, top)
    await stage(program, top, ["a", "*", "new\n", "-A", ":(top)"])
    assert set(staged(folder)) == {"a", "*", "new\n", "-A", ":(top)"}
    assert await has_staged(program, top)
    with pytest.raises(GitFailed, match="did not match any files"):
        await stage(program, top, ["other", "nothing"])
    assert "other" not in staged(folder)


async def test_what_is_staged_is_committed_and_otherwise_the_files(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    (folder / "a").write_text("staged\n")
    (folder / "b").write_text("not staged\n")
    git(folder, "add", "a")
    first = await commit_changes(program, top, "One\n\nand # more", ["b"])
    assert git(folder, "rev-parse", "HEAD") == first
    assert git(folder, "log", "-1", "--format=%B") == "One\n\nand # more"
    assert git(folder, "status", "--porcelain") == "M b"
    await commit_changes(program, top, "Two", ["b"])
    assert git(folder, "status", "--porcelain") == ""


async def test_the_users_hooks_have_their_say_and_a_no_changes_nothing(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    hook(folder, "pre-commit", "echo 'not on my watch' >&2; exit 1")
    (folder / "a").write_text("changed\n")
    before = git(folder, "rev-parse", "HEAD")
    with pytest.raises(GitFailed, match="not on my watch"):
        await commit_changes(program, top, "One", ["a"])
    assert (git(folder, "rev-parse", "HEAD"), staged(folder)) == (before, [])
    assert git(folder, "status", "--porcelain") == "M a"
    with pytest.raises(GitFailed):
        await commit_changes(program, top, "One", ["nothing"])
    hook(folder, "pre-commit", "exit 0")
    with pytest.raises(GitFailed):
        await commit_changes(program, top, "", ["a"])
    assert staged(folder) == []
    hook(folder, "commit-msg", 'echo "by the hook" > "$1"')
    await commit_changes(program, top, "One", ["a"])
    assert git(folder, "log", "-1", "--format=%B") == "by the hook"


async def test_what_others_stage_while_a_hook_runs_stays_staged(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    (folder / "a").write_text("changed\n")
    (folder / "mine").write_text("x\n")
    hook(folder, "pre-commit", "git add mine; exit 1")
    with pytest.raises(GitFailed):
        await commit_changes(program, await found(folder), "One", ["a"])
    assert "mine" in staged(folder)
    assert not (folder / ".git" / "index.lock").exists()


async def test_the_first_commit_and_one_that_fails(tmp_path: Path) -> None:
    program, folder = GitProgram(), tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a").write_text("x\n")
    top = await found(folder)
    assert not await has_staged(program, top)
    with pytest.raises(GitFailed):
        await commit_changes(program, top, "", ["a"])
    assert git(folder, "status", "--porcelain") == "?? a"
    await commit_changes(program, top, "First", ["a"])
    assert git(folder, "status", "--porcelain") == ""
    assert commit(folder, "next")


async def test_a_lock_of_the_users_is_respected(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    (folder / "a").write_text("changed\n")
    lock = folder / ".git" / "index.lock"
    lock.write_text("theirs")
    with pytest.raises(GitFailed, match=r"index\.lock': File exists"):
        await commit_changes(program, await found(folder), "One", ["a"])
    assert lock.read_text() == "theirs"


async def test_who_does_not_wait_for_git_leaves_no_lock_behind(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    (folder / ".gitattributes").write_text("a filter=slow\n")
    commit(folder, "attributes")
    git(folder, "config", "--global", "filter.slow.clean", f"touch {tmp_path}/begun; sleep 60")
    (folder / "a").write_text("changed\n")
    top = await found(folder)
    for path, work in (
        ("a", stage(program, top, ["a"])),
        ("b", commit_changes(program, top, "One", ["b", "a"])),
    ):
        (folder / path).write_text("changed\n")
        task = asyncio.create_task(work)
        await eventually((tmp_path / "begun").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (tmp_path / "begun").unlink()
        assert not (folder / ".git" / "index.lock").exists()
        assert staged(folder) == []
