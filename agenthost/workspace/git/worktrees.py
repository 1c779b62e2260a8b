"""Working trees of their own for sessions, each on a branch of its own."""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from dataclasses import dataclass

from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import Repository, commit_of

# Seconds in which all files must be there.
PATIENCE = 180.0
BRANCHES = "agents/"
_LONGEST_NAME = 40
_MOST_TRIES = 100


@dataclass(frozen=True, slots=True)
class Worktree:
    """A working tree that was made for a session."""

    folder: str
    branch: str


def worktree_name(title: str) -> str:
    """Return a title as part of a file's and a branch's name."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST_NAME].strip("-")
    return name or "session"


async def add_worktree(
    program: GitProgram, repository: Repository, title: str, base: str | None = None
) -> Worktree:
    """Check a base (what is checked out now) out into a new folder, on a new branch.

    The folder is beside the repository: ``<repository>.worktrees/<name>``.

    Raises:
        GitFailed: there is no such base, or no room for its files.
    """
    commit = await commit_of(program, repository, base or "HEAD")
    if commit is None:
        raise GitFailed(f"there is no branch {base}" if base else "there is no commit yet")
    off = (await program.configured(repository.top)).filters_off
    # Beside the repository, not beside a working tree of it.
    main = os.path.dirname(repository.common_dir)
    if os.path.basename(repository.common_dir) != ".git":
        main = repository.top
    for name in _names(worktree_name(title)):
        worktree = Worktree(os.path.join(f"{main}.worktrees", name), BRANCHES + name)
        if await _is_free(program, repository, worktree):
            words = ("worktree", "add", "--quiet", "-b", worktree.branch)
            folder = worktree.folder
            await program.run(
                repository.top, *words, "--", folder, commit, settings=off, patience=PATIENCE
            )
            return worktree
    raise GitFailed("too many worktrees have this name")


async def remove_worktree(program: GitProgram, repository: Repository, folder: str) -> bool:
    """Remove a working tree, unless there is anything in it that is nowhere else.

    Its branch stays. Return whether it is gone.
    """
    try:
        off = (await program.configured(repository.top)).filters_off
        words = ("worktree", "remove", "--", folder)
        await program.run(repository.top, *words, settings=off, patience=PATIENCE)
    except GitFailed:
        return not await asyncio.to_thread(os.path.lexists, folder)
    return True


def _names(name: str) -> list[str]:
    return [name, *(f"{name}-{number}" for number in range(2, _MOST_TRIES))]


async def _is_free(program: GitProgram, repository: Repository, worktree: Worktree) -> bool:
    if await asyncio.to_thread(os.path.lexists, worktree.folder):
        return False
    return await commit_of(program, repository, f"refs/heads/{worktree.branch}") is None
