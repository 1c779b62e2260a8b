"""What git says of a folder, from real repositories and from what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.host.channels.session.git_metadata import git_meta
from agenthost.workspace.git import program as module
from agenthost.workspace.git.program import GitProgram
from agenthost.workspace.git.repository import find_repository
from agenthost.workspace.git.status import (
    GitOverview,
    GitStatus,
    git_overview,
    git_status,
    read_porcelain,
)
from tests.workspace.git.repositories import commit, git, repository


async def test_a_repository_tells_its_branch_upstream_and_changes(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    clone = tmp_path / "clone"
    git(clone, "commit", "-q", "--allow-empty", "-m", "ours")
    (clone / "new file").write_text("x")
    status = await git_status(clone)
    assert status == GitStatus("main", "origin/main", 0, 1, 1, (str(origin),))
    git(clone, "checkout", "-q", "--detach")
    detached = await git_status(clone)
    assert detached is not None
    assert detached.branch is None


async def test_where_there_is_no_repository_there_is_nothing_to_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await git_status(tmp_path) is None
    assert await git_status(tmp_path / "gone") is None
    assert await git_status(str(tmp_path) + "\0") is None
    folder = repository(tmp_path / "there")
    assert await git_status(folder) is not None
    with monkeypatch.context() as context:
        context.setattr(module, "MOST_OUTPUT", 3)
        assert await git_status(folder) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await git_status(folder) is None


async def test_looking_at_a_repository_runs_no_program_that_it_names(tmp_path: Path) -> None:
    folder, trace = repository(tmp_path / "hostile"), tmp_path / "trace"
    (folder / "a").write_text("a")
    git(folder, "add", "a")
    git(folder, "config", "core.fsmonitor", f"touch {trace};")
    git(folder, "config", "filter.spy.clean", f"touch {trace}; cat")
    (folder / ".gitattributes").write_text("* filter=spy\n")
    (folder / "a").write_text("b")
    status = await git_status(folder)
    assert status is not None
    assert status.uncommitted == 2
    assert not trace.exists()


def test_half_of_what_git_prints_is_half_understood() -> None:
    assert read_porcelain("") == GitStatus()
    assert read_porcelain("# branch.ab +1\n# branch.head x\n?? a\n") == GitStatus(
        branch="x", uncommitted=1
    )


@pytest.mark.parametrize(
    ("remote", "github"),
    [
        ("https://github.com/a/b.git", True),
        ("git@github.com:a/b.git", True),
        ("ssh://git@GitHub.com/a/b", True),
        ("https://github.com.evil.example/a", False),
        ("https://evil.example/github.com", False),
        ("/srv/github.com", False),
    ],
)
def test_what_is_on_github_is_told_by_the_host_of_its_remote(remote: str, github: bool) -> None:
    meta = git_meta(GitOverview(GitStatus(branch="x", remotes=(remote,))))
    assert (meta["hasGitRemote"], meta["hasGitHubRemote"]) == (True, github)
    assert "incomingChanges" not in meta


async def overview(folder: Path, base: str | None = None) -> GitOverview:
    program = GitProgram()
    found = await find_repository(program, str(folder))
    assert found is not None
    told = await git_overview(program, found, base)
    assert told is not None
    return told


async def test_a_branch_is_compared_with_its_base_and_named_as_on_github(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    assert "baseBranchName" not in git_meta(await overview(folder))
    git(folder, "remote", "add", "fork", "git@github.com:me/mine.git")
    git(folder, "remote", "add", "fork/deep", "https://github.com/deep/mine")
    git(folder, "remote", "add", "origin", "https://github.com/them/theirs.git")
    git(folder, "checkout", "-q", "-b", "work")
    told = git_meta(await overview(folder))
    assert told["baseBranchName"] == "main"
    assert (told["outgoingChanges"], told["hasBaseBranchChanges"]) == (0, False)
    commit(folder, "one")
    commit(folder, "two")
    git(folder, "update-ref", "refs/remotes/fork/deep/work", "HEAD~1")
    git(folder, "config", "branch.work.remote", "fork/deep")
    git(folder, "config", "branch.work.merge", "refs/heads/work")
    (folder / "a").write_text("changed")
    assert git_meta(await overview(folder)) == {
        "branchName": "work",
        "baseBranchName": "main",
        "upstreamBranchName": "fork/deep/work",
        "isDetachedHead": False,
        "hasGitRemote": True,
        "hasGitHubRemote": True,
        "incomingChanges": 0,
        "outgoingChanges": 1,
        "uncommittedChanges": 1,
        "hasBaseBranchChanges": True,
        "githubOwner": "them",
        "githubRepo": "theirs",
        "githubHeadOwner": "deep",
    }
    git(folder, "branch", "--unset-upstream")
    unpushed = git_meta(await overview(folder))
    assert (unpushed["outgoingChanges"], "githubHeadOwner" in unpushed) == (2, False)
    git(folder, "branch", "older", "HEAD~1")
    assert (await overview(folder, "older")).beyond_base == 1
    git(folder, "checkout", "-q", "--detach")
    detached = git_meta(await overview(folder))
    assert (detached["isDetachedHead"], "branchName" in detached) == (True, False)


async def test_a_repository_without_a_commit_is_told_of(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "new").write_text("x")
    told = git_meta(await overview(folder))
    assert (told["branchName"], told["uncommittedChanges"]) == ("trunk", 1)
    assert "hasBaseBranchChanges" not in told
