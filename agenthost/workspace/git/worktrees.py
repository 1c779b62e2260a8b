"""Working trees of their own for sessions, each on a branch of its own.

One is planned, remembered by whoever wants it, and then made: should everything stop in between,
what is found under its name afterwards is either taken up or cleared away, and nobody else's is
touched.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import unicodedata

from msgspec import Struct

from agenthost.workspace.git.program import GitFailed, GitProgram
from agenthost.workspace.git.repository import (
    Repository,
    commit_of,
    current_branch,
    find_repository,
)

# Seconds in which all files must be there.
PATIENCE = 180.0
BRANCHES = "agents/"
_LONGEST_NAME = 40
_MOST_TRIES = 100


class Worktree(Struct, frozen=True):
    """A working tree for a session: where, on which branch, from which commit."""

    folder: str
    branch: str
    commit: str


def worktree_name(title: str) -> str:
    """Return a title as part of a file's and a branch's name."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST_NAME].strip("-")
    return name or "session"


def main_folder(repository: Repository) -> str:
    """Return the working tree that others of a repository belong to; it may be this one."""
    is_linked = repository.git_dir != repository.common_dir
    if is_linked and os.path.basename(repository.common_dir) == ".git":
        return os.path.dirname(repository.common_dir)
    return repository.top


def worktrees_folder(repository: Repository) -> str:
    """Return the folder in which all working trees for sessions of a repository are."""
    # Beside the repository, not beside a working tree of it.
    return f"{main_folder(repository)}.worktrees"


async def plan_worktree(
    program: GitProgram, repository: Repository, title: str, base: str | None = None
) -> Worktree:
    """Find a free name for a working tree of a base branch (what is checked out now).

    Its folder is beside the repository: ``<repository>.worktrees/<name>``.

    Raises:
        GitFailed: there is nothing to check out, or no free name.
    """
    name = f"refs/heads/{base}" if base else "HEAD"
    commit = await commit_of(program, repository, name)
    if commit is None:
        raise GitFailed(f"there is no branch {base}" if base else "there is no commit yet")
    beside = worktrees_folder(repository)
    if await asyncio.to_thread(os.path.islink, beside):
        raise GitFailed(f"{beside} leads somewhere else")
    for tried in _names(worktree_name(title)):
        worktree = Worktree(os.path.join(beside, tried), BRANCHES + tried, commit)
        if await _is_free(program, repository, worktree):
            return worktree
    raise GitFailed("too many worktrees have this name")


async def make_worktree(program: GitProgram, repository: Repository, worktree: Worktree) -> None:
    """Check a planned working tree out, on its new branch; after a failure nothing is left of it.

    Raises:
        GitFailed: git says no, for instance because there is no room for its files.
    """
    off = (await program.configured(repository.top)).filters_off
    words = ("worktree", "add", "--quiet", "-b", worktree.branch, "--", worktree.folder)
    try:
        await program.run(repository.top, *words, worktree.commit, settings=off, patience=PATIENCE)
    except GitFailed:
        if await _is_unfinished(program, repository, worktree.folder):
            await _clear(program, repository, worktree)
        elif not await asyncio.to_thread(os.path.lexists, worktree.folder):
            await _drop_branch(program, repository, worktree)
        raise


async def is_worktree(program: GitProgram, repository: Repository, worktree: Worktree) -> bool:
    """Say whether a working tree is there and still on the branch that it was made with."""
    found = await find_repository(program, worktree.folder)
    # A folder without a repository of its own may be inside of another one.
    if found is None or found.top != await asyncio.to_thread(os.path.realpath, worktree.folder):
        return False
    is_ours = found.common_dir == repository.common_dir
    return is_ours and await current_branch(program, found) == worktree.branch


async def take_up_worktree(
    program: GitProgram, repository: Repository, worktree: Worktree, *, patience: float = 10.0
) -> bool:
    """Say whether a planned working tree is there, made by a git that nobody waited for.

    One that is still being made gets time to be done; one that was left half made is cleared away.
    """
    deadline = asyncio.get_running_loop().time() + patience
    while await _is_unfinished(program, repository, worktree.folder):
        if asyncio.get_running_loop().time() >= deadline:
            await _clear(program, repository, worktree)
            return False
        await asyncio.sleep(0.1)
    return await is_worktree(program, repository, worktree)


async def remove_worktree(program: GitProgram, repository: Repository, folder: str) -> bool:
    """Remove a working tree, unless there is anything in it that is nowhere else.

    Its branch stays. Return whether it is gone.
    """
    try:
        if await _holds_commits_of_its_own(program, folder):
            return False
        if await _holds_files_of_its_own(program, folder):
            return False
        off = (await program.configured(repository.top)).filters_off
        words = ("worktree", "remove", "--", folder)
        strict = (*off, ("status.showUntrackedFiles", "all"))
        await program.run(repository.top, *words, settings=strict, patience=PATIENCE)
    except GitFailed:
        return not await asyncio.to_thread(os.path.lexists, folder)
    return True


async def has_branch(program: GitProgram, repository: Repository, name: str) -> bool:
    """Say whether there is a local branch of exactly that name."""
    try:
        words = ("show-ref", "--verify", "--quiet", "--", f"refs/heads/{name}")
        await program.run(repository.top, *words)
    except GitFailed:
        return False
    return True


async def find_branches(
    program: GitProgram, repository: Repository, query: str, most: int
) -> list[str]:
    """Return local branches with a text in their names: those that begin with it, then by age.

    Raises:
        GitFailed: git does not say.
    """
    words = ("for-each-ref", "--sort=-committerdate", "--format=%(refname:lstrip=2)", "refs/heads/")
    names = (await program.run(repository.top, *words)).decode(errors="replace").split("\n")
    wanted = query.lower()
    fitting = [name for name in names if name and wanted in name.lower()]
    return sorted(fitting, key=lambda name: not name.lower().startswith(wanted))[:most]


def _names(name: str) -> list[str]:
    return [name, *(f"{name}-{number}" for number in range(2, _MOST_TRIES))]


async def _is_free(program: GitProgram, repository: Repository, worktree: Worktree) -> bool:
    if await asyncio.to_thread(os.path.lexists, worktree.folder):
        return False
    return not await has_branch(program, repository, worktree.branch)


async def _is_unfinished(program: GitProgram, repository: Repository, folder: str) -> bool:
    """Say whether git has begun to make a working tree and did not end."""
    try:
        listed = await program.run(repository.top, "worktree", "list", "--porcelain", "-z")
    except GitFailed:
        return False
    for entry in os.fsdecode(listed).split("\0\0"):
        lines = entry.split("\0")
        if lines[0] == f"worktree {folder}":
            # What git itself locks it with meanwhile.
            return "locked initializing" in lines
    return False


async def _clear(program: GitProgram, repository: Repository, worktree: Worktree) -> None:
    """Remove what git has left of a working tree that it did not finish."""
    with contextlib.suppress(GitFailed):
        words = ("worktree", "remove", "--force", "--force", "--", worktree.folder)
        await program.run(repository.top, *words, patience=PATIENCE)
    await _drop_branch(program, repository, worktree)


async def _drop_branch(program: GitProgram, repository: Repository, worktree: Worktree) -> None:
    # Only as it was made: with work on it, it is somebody's.
    with contextlib.suppress(GitFailed):
        words = ("update-ref", "-d", f"refs/heads/{worktree.branch}", worktree.commit)
        await program.run(repository.top, *words)


async def _holds_commits_of_its_own(program: GitProgram, folder: str) -> bool:
    """Say whether what is checked out is on no branch, and would be lost with the folder."""
    try:
        await program.run(folder, "symbolic-ref", "--quiet", "HEAD")
    except GitFailed as failure:
        if failure.code != 1:
            raise
        told = await program.run(folder, "for-each-ref", "--count=1", "--contains", "HEAD")
        return not told.strip()
    return False


async def _holds_files_of_its_own(program: GitProgram, folder: str) -> bool:
    """Say whether there are files that git would remove although it does not have them.

    To git an ignored file is rubbish, but it may be somebody's settings; and it does not look at
    files that it was told to take for unchanged.
    """
    words = ("ls-files", "--others", "--directory", "--no-empty-directory", "-z")
    if await program.run(folder, *words, patience=PATIENCE):
        return True
    told = await program.run(folder, "ls-files", "-v", "-z", patience=PATIENCE)
    tagged = (entry.split(" ", 1) for entry in os.fsdecode(told).split("\0") if entry)
    unseen = [name for tag, name in tagged if tag.islower() or tag == "S"]
    return await asyncio.to_thread(
        lambda: any(os.path.lexists(os.path.join(folder, name)) for name in unseen)
    )
