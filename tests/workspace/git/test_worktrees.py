"""Working trees for sessions: beside the repository, on branches of their own, gone when clean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import Repository, find_repository
from agenthost.workspace.git.worktrees import (
    Worktree,
    make_worktree,
    plan_worktree,
    remove_worktree,
    worktree_name,
)
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
