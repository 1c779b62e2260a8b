"""What git says of a folder: its branch, its upstream, its base, and how much has changed.

Reads only, by the ``git`` program; a folder outside of any repository, a machine without git and a
repository that takes too long all give None.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import Repository, base_branch, github_repository

# Submodules have configurations of their own.
_STATUS = ("--porcelain=v2", "--branch", "--ignore-submodules=all")


class GitStatus(NamedTuple):
    """A working tree as ``git status`` sees it."""

    # None while HEAD is detached.
    branch: str | None = None
    upstream: str | None = None
    # Commits that only the upstream has, and that only we have; None without an upstream.
    behind: int | None = None
    ahead: int | None = None
    # Entries that differ from HEAD, untracked ones among them.
    uncommitted: int = 0
    # Where its remotes are.
    remotes: tuple[str, ...] = ()


class GitOverview(NamedTuple):
    """A working tree, what its branch is to be compared with, and where it is published."""

    status: GitStatus
    # The branch that the work is meant for; None on that branch itself.
    base: str | None = None
    # Commits that the base has not; None without one.
    beyond_base: int | None = None
    # Owner and name on GitHub, and the owner of what the branch is pushed to.
    github: tuple[str, str] | None = None
    head_owner: str | None = None


async def git_overview(
    program: GitProgram, repository: Repository, wanted_base: str | None = None
) -> GitOverview | None:
    """Return all that editors show of a repository; None where that takes too long."""
    status = await git_status(repository.top, program)
    if status is None:
        return None
    try:
        base = await base_branch(program, repository, wanted_base)
    except GitFailed:
        return None
    beyond = await _beyond(program, repository, base) if base is not None else None
    remotes = await _remotes(program, repository) if status.remotes else {}
    published = {name: found for name in remotes if (found := github_repository(remotes[name]))}
    github = published.get("origin") or next(iter(published.values()), None)
    head = published.get(_remote_of(status.upstream or "", remotes))
    return GitOverview(status, base, beyond, github, head[0] if head is not None else None)


async def _beyond(program: GitProgram, repository: Repository, base: str) -> int | None:
    with contextlib.suppress(GitFailed, ValueError):
        words = ("rev-list", "--count", "--end-of-options", f"{base}..HEAD")
        return int(await program.run(repository.top, *words))
    return None


async def _remotes(program: GitProgram, repository: Repository) -> dict[str, str]:
    """Return where each remote is, those first that were configured first."""
    try:
        listed = await program.run(
            repository.top, "config", "-z", "--get-regexp", r"^remote\..*\.url$"
        )
    except GitFailed:
        return {}
    found: dict[str, str] = {}
    for setting in os.fsdecode(listed).split("\0"):
        key, _, url = setting.partition("\n")
        found.setdefault(key.removeprefix("remote.").removesuffix(".url"), url)
    return found


def _remote_of(upstream: str, remotes: Mapping[str, str]) -> str:
    """Return the remote that a branch is at; both may have slashes in their names."""
    fitting = [name for name in remotes if name and upstream.startswith(name + "/")]
    return max(fitting, key=len, default="")


async def git_status(folder: str | Path, program: GitProgram | None = None) -> GitStatus | None:
    """Return the state of the repository that a folder is in, or None."""
    program = program or GitProgram()
    try:
        configured = await program.configured(folder)
        off = configured.filters_off
        status = await program.run(folder, "status", *_STATUS, settings=off)
    except GitFailed:
        return None
    return read_porcelain(status.decode(errors="replace"), configured.remotes)


def read_porcelain(text: str, remotes: tuple[str, ...] = ()) -> GitStatus:
    """Read what ``git status --porcelain=v2 --branch`` prints."""
    headers: dict[str, str] = {}
    entries = 0
    for line in text.splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(" ")
            headers[key] = value
        elif line:
            entries += 1
    branch = headers.get("branch.head")
    ahead = behind = None
    with contextlib.suppress(KeyError, ValueError):
        counts = [abs(int(count)) for count in headers["branch.ab"].split()]
        ahead, behind = counts
    return GitStatus(
        branch=branch if branch != "(detached)" else None,
        upstream=headers.get("branch.upstream"),
        behind=behind,
        ahead=ahead,
        uncommitted=entries,
        remotes=remotes,
    )
