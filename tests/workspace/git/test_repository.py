"""The repository of a folder: where it is, what is never taken for one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agenthost.workspace.git import repository as asking
from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import (
    Repository,
    base_branch,
    commit_of,
    current_branch,
    empty_tree,
    find_repository,
    github_repository,
    merge_base,
)
from tests.workspace.git.repositories import commit, git, repository


async def found(folder: Path) -> Repository:
    result = await find_repository(GitProgram(), str(folder))
    assert result is not None
    return result


async def test_a_folder_finds_its_repository(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    (folder / "in" / "ner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder / "in")
    for place in (folder, folder / "in" / "ner", tmp_path / "link"):
        assert (await found(place)).top == str(folder)
    git(folder, "worktree", "add", "-q", "../other")
    other = await found(tmp_path / "other")
    assert (other.top, other.common_dir) == (str(tmp_path / "other"), str(folder / ".git"))
    assert other.git_dir == str(folder / ".git" / "worktrees" / "other")
    git(folder, "submodule", "add", "-q", str(folder), "sub")
    sub = await found(folder / "sub")
    assert (sub.top, sub.common_dir) == (str(folder / "sub"), str(folder / ".git/modules/sub"))


async def test_what_only_looks_like_a_repository_is_none(tmp_path: Path) -> None:
    program = GitProgram()
    folder = repository(tmp_path / "r")
    git(tmp_path, "clone", "-q", "--bare", str(folder), "bare")
    (tmp_path / "line\nbreak").mkdir()
    git(tmp_path / "line\nbreak", "init", "-q")
    nowhere = [tmp_path, tmp_path / "gone", tmp_path / "bare", folder / ".git"]
    nowhere.append(tmp_path / "line\nbreak")
    for place in nowhere:
        assert await find_repository(program, str(place)) is None, place
    # Its files are said to be elsewhere.
    git(folder, "config", "core.worktree", "/etc")
    assert await find_repository(program, str(folder)) is None


async def test_folders_are_told_relative_to_the_top(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    (folder / "in").mkdir()
    (folder / "out").symlink_to(tmp_path)
    top = await found(folder)
    places = [folder / "in", folder, tmp_path, folder / "out", folder / "in", f"{folder}x"]
    assert top.inside([str(place) for place in places]) == ("in", ".")


async def test_what_a_branch_is_compared_with(tmp_path: Path) -> None:
    program, folder = GitProgram(), repository(tmp_path / "r")
    top = await found(folder)
    first = await commit_of(program, top)
    assert await current_branch(program, top) == "main"
    assert await base_branch(program, top) is None
    git(folder, "checkout", "-qb", "feature")
    second = commit(folder, "second")
    git(folder, "checkout", "-q", "main")
    commit(folder, "third")
    git(folder, "checkout", "-q", "feature")
    assert await base_branch(program, top) == "main"
    assert await base_branch(program, top, "nothing") == "main"
    assert await base_branch(program, top, "feature") == "main"
    assert await merge_base(program, top, "main") == first
    assert await merge_base(program, top, "nothing") is None
    git(folder, "checkout", "-q", "--orphan", "alone")
    assert await commit_of(program, top) is None
    assert await merge_base(program, top, "main") is None
    commit(folder, "unrelated")
    assert await merge_base(program, top, "main") is None
    git(folder, "checkout", "-q", "--detach", second)
    assert await current_branch(program, top) is None
    assert await base_branch(program, top) == "main"


async def test_the_remotes_own_main_branch_comes_first(tmp_path: Path) -> None:
    program, origin = GitProgram(), repository(tmp_path / "origin")
    git(origin, "branch", "-m", "trunk")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    clone = tmp_path / "clone"
    top = await found(clone)
    assert await base_branch(program, top) is None
    git(clone, "checkout", "-qb", "feature")
    assert await base_branch(program, top) == "trunk"
    git(clone, "branch", "-D", "trunk")
    assert await base_branch(program, top) == "origin/trunk"
    assert await base_branch(program, top, "origin/trunk") == "origin/trunk"


@pytest.mark.parametrize("end", ["kill -9 $$", "exec sleep 60"])
async def test_a_git_that_gives_no_answer_has_not_said_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    it = await found(repository(tmp_path / "r"))
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\n{end}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(asking, "LONG_PATIENCE", 0.1)
    for ask in (commit_of, base_branch, empty_tree):
        with pytest.raises(GitFailed):
            await ask(GitProgram(), it)
    with pytest.raises(GitFailed):
        await merge_base(GitProgram(), it, "main")


async def test_names_that_are_options_are_nobodys_branch(tmp_path: Path) -> None:
    program, top = GitProgram(), await found(repository(tmp_path / "r"))
    for name in ("--all", "-h", "", "main..main", "a b"):
        assert await commit_of(program, top, name) is None, name
    assert await empty_tree(program, top) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("https://github.com/a/b.git", ("a", "b")),
        ("https://x:y@github.com/a/b.c/", ("a", "b.c")),
        ("git@github.com:a/b.git", ("a", "b")),
        ("ssh://git@GitHub.com:22/a/b", ("a", "b")),
        ("https://github.com/a", None),
        ("https://github.com/a/b/c", None),
        ("https://github.com.evil.example/a/b", None),
        ("https://[/a/b", None),
        ("/srv/github.com/a/b", None),
        ("github.com:a/b?x", None),
    ],
)
def test_repositories_on_github(remote: str, name: tuple[str, str] | None) -> None:
    assert github_repository(remote) == name
