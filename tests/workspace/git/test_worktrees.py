"""Working trees for sessions: beside the repository, on branches of their own, gone when clean."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import Repository, find_repository
from agenthost.workspace.git.worktrees import (
    Worktree,
    find_branches,
    has_branch,
    make_worktree,
    plan_worktree,
    remove_worktree,
    take_up_worktree,
    worktree_name,
)
from tests.children import gone
from tests.flags import eventually
from tests.workspace.git.repositories import commit, git, repository


async def found(folder: Path) -> Repository:
    result = await find_repository(GitProgram(), str(folder))
    assert result is not None
    return result


async def add_worktree(
    program: GitProgram, repository: Repository, title: str, base: str | None = None
) -> Worktree:
    worktree = await plan_worktree(program, repository, title, base)
    await make_worktree(program, repository, worktree)
    return worktree


def put(worktree: Worktree, name: str, text: str) -> None:
    Path(worktree.folder, name).write_text(text)


async def test_each_session_gets_a_folder_and_a_branch(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    first = git(folder, "rev-parse", "HEAD")
    git(folder, "branch", "old")
    second = commit(folder, "second")
    top = await found(folder)
    one = await add_worktree(program, top, "Fix the Bug!")
    beside = tmp_path / "r.worktrees"
    assert one == Worktree(str(beside / "fix-the-bug"), "agents/fix-the-bug", second)
    assert git(Path(one.folder), "rev-parse", "HEAD") == second
    assert git(Path(one.folder), "branch", "--show-current") == "agents/fix-the-bug"
    # From inside of another: still beside the repository.
    two = await add_worktree(program, await found(Path(one.folder)), "fix the bug", "old")
    assert two == Worktree(str(beside / "fix-the-bug-2"), "agents/fix-the-bug-2", first)
    assert git(Path(two.folder), "rev-parse", "HEAD") == first
    assert git(folder, "status", "--porcelain") == ""


async def test_making_one_runs_nothing_that_the_repository_names(tmp_path: Path) -> None:
    folder, trace = repository(tmp_path / "r"), tmp_path / "trace"
    (folder / ".gitattributes").write_text("* filter=spy\n")
    commit(folder, "attributes")
    git(folder, "config", "filter.spy.smudge", f"touch {trace}; cat")
    git(folder, "config", "filter.spy.required", "true")
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {trace}\n")
    hook.chmod(0o755)
    worktree = await add_worktree(GitProgram(), await found(folder), "x")
    assert sorted(os.listdir(worktree.folder)) == [".git", ".gitattributes", "a", "b"]
    assert not trace.exists()


async def test_one_with_work_in_it_stays(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    worktree = await add_worktree(program, top, "x")
    put(worktree, "new", "work")
    assert not await remove_worktree(program, top, worktree.folder)
    assert "new" in os.listdir(worktree.folder)
    commit(Path(worktree.folder), "work")
    assert await remove_worktree(program, top, worktree.folder)
    assert os.listdir(tmp_path / "r.worktrees") == []
    assert git(folder, "show", f"{worktree.branch}:new") == "work"
    # Somebody was faster.
    assert await remove_worktree(program, top, worktree.folder)
    # And the folder of somebody else's is none of ours to remove.
    assert not await remove_worktree(program, top, str(folder))


def contents(worktree: Worktree) -> set[bytes]:
    files = Path(worktree.folder).rglob("*")
    return {file.read_bytes() for file in files if file.is_file()}


def _ignored(folder: Path) -> None:
    (folder / ".env").write_text("work")


def _in_an_ignored_folder(folder: Path) -> None:
    (folder / "build" / "deep").mkdir(parents=True)
    git(folder / "build" / "deep", "init", "-q")
    (folder / "build" / "deep" / "file").write_text("work")


def _untracked_and_not_shown(folder: Path) -> None:
    git(folder, "config", "--global", "status.showUntrackedFiles", "no")
    (folder / "new").write_text("work")


def _taken_for_unchanged(folder: Path) -> None:
    git(folder, "update-index", "--assume-unchanged", "a")
    (folder / "a").write_text("work")


def _skipped(folder: Path) -> None:
    git(folder, "update-index", "--skip-worktree", "a")
    (folder / "a").write_text("work")


@pytest.mark.parametrize(
    "leave",
    [
        _ignored,
        _in_an_ignored_folder,
        _untracked_and_not_shown,
        _taken_for_unchanged,
        _skipped,
    ],
)
async def test_one_with_files_that_git_does_not_look_at_stays(
    tmp_path: Path, leave: Callable[[Path], None]
) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    (folder / ".gitignore").write_text(".env\nbuild\n")
    commit(folder, "ignore")
    top = await found(folder)
    worktree = await add_worktree(program, top, "x")
    leave(Path(worktree.folder))
    assert not await remove_worktree(program, top, worktree.folder)
    assert git(folder, "worktree", "list", "--porcelain").count("worktree ") == 2
    assert b"work" in contents(worktree)


async def test_without_anything_to_check_out_there_is_none(tmp_path: Path) -> None:
    program = GitProgram()
    folder = tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q")
    top = await found(folder)
    with pytest.raises(GitFailed, match="no commit yet"):
        await add_worktree(program, top, "x")
    for base in ("nothing", "--detach"):
        with pytest.raises(GitFailed, match="there is no branch"):
            await add_worktree(program, top, "x", base)
    assert os.listdir(tmp_path) == ["r"]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Añadir ../../etc", "anadir-etc"),
        ("-rf", "rf"),
        ("日本", "session"),
        ("", "session"),
        ("a.lock", "a-lock"),
        ("x" * 39 + " y", "x" * 39),
    ],
)
def test_any_title_makes_a_name(title: str, name: str) -> None:
    assert worktree_name(title) == name


async def planned(program: GitProgram, folder: Path, title: str = "x") -> Worktree:
    return await plan_worktree(program, await found(folder), title)


async def test_a_plan_changes_nothing_and_what_was_made_of_it_is_taken_up(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    plan = await planned(program, folder)
    assert os.listdir(tmp_path) == ["r"]
    assert not await has_branch(program, top, "agents/x")
    assert not await take_up_worktree(program, top, plan)
    await make_worktree(program, top, plan)
    assert await take_up_worktree(program, top, plan)
    # Not what somebody else has put there instead.
    git(Path(plan.folder), "checkout", "-q", "-b", "mine")
    assert not await take_up_worktree(program, top, plan)
    assert await remove_worktree(program, top, plan.folder)
    other = repository(Path(plan.folder))
    assert not await take_up_worktree(program, top, plan)
    assert git(other, "status", "--porcelain") == ""


async def test_one_that_was_left_half_made_is_cleared_away(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    plan = await planned(program, folder)
    await make_worktree(program, top, plan)
    # As git leaves it that is killed: files are missing, and it is locked.
    made = tmp_path / "r.worktrees" / "x"
    (made / "a").unlink()
    (folder / ".git" / "worktrees" / "x" / "locked").write_text("initializing\n")
    assert not await take_up_worktree(program, top, plan, patience=0)
    assert not made.exists()
    assert await planned(program, folder) == plan


async def test_one_that_somebody_has_locked_is_not_half_made(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    worktree = await add_worktree(program, top, "x")
    git(folder, "worktree", "lock", "--reason", "on a stick", worktree.folder)
    assert await take_up_worktree(program, top, worktree, patience=0)
    assert not await remove_worktree(program, top, worktree.folder)
    assert "a" in os.listdir(worktree.folder)


async def test_commits_that_are_on_no_branch_are_not_lost(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    worktree = await add_worktree(program, top, "x")
    inside = Path(worktree.folder)
    git(inside, "checkout", "-q", "--detach")
    commit(inside, "nowhere else")
    assert not await remove_worktree(program, top, worktree.folder)
    git(inside, "branch", "somewhere")
    assert await remove_worktree(program, top, worktree.folder)


async def test_worktrees_are_beside_the_files_wherever_git_keeps_the_rest(tmp_path: Path) -> None:
    folder, kept = tmp_path / "r", tmp_path / "kept" / ".git"
    kept.parent.mkdir()
    git(tmp_path, "init", "-q", "-b", "main", "--separate-git-dir", str(kept), str(folder))
    commit(folder, "first")
    worktree = await add_worktree(GitProgram(), await found(folder), "x")
    assert worktree.folder == str(tmp_path / "r.worktrees" / "x")


async def test_giving_up_on_git_ends_it(tmp_path: Path) -> None:
    program, folder, started = GitProgram(), repository(tmp_path / "r"), tmp_path / "started"
    slow = tmp_path / "slow"
    slow.write_text(
        f"#!/bin/sh\necho $PPID > {started}.new\nmv {started}.new {started}\nsleep 999\n"
    )
    slow.chmod(0o755)
    (folder / ".gitattributes").write_text("a filter=slow\n")
    commit(folder, "slow")
    settings = tmp_path / "settings"
    settings.write_text(f'[filter "slow"]\nsmudge = {slow}\n')
    os.symlink(settings, os.path.join(os.environ["HOME"], ".gitconfig"))
    top = await found(folder)
    plan = await planned(program, folder)
    making = asyncio.create_task(make_worktree(program, top, plan))
    await eventually(started.exists)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    await gone(int(started.read_text()))
    assert not await take_up_worktree(program, top, plan, patience=0)
    assert os.listdir(tmp_path / "r.worktrees") == []


async def test_branches_are_found_by_any_part_of_their_names(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    for name in ("a/main", "Mainly", "other"):
        git(folder, "branch", name)
    assert set(await find_branches(program, top, "", 9)) == {"main", "a/main", "Mainly", "other"}
    assert (await find_branches(program, top, "MAIN", 9))[-1] == "a/main"
    assert len(await find_branches(program, top, "", 2)) == 2
    for name in ("HEAD", "refs/heads/main", "main^", "main@{0}", "--", "-", "", "ma*", "a"):
        assert not await has_branch(program, top, name), name
