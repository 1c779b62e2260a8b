"""The repository that a folder is in: where it begins, what it is at, its branches."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from agenthost.workspace.git.program import LONG_PATIENCE, GitFailed, GitProgram

# What a branch is compared with, if there is no better reason.
_USUAL_BASES = ("main", "master")
_GITHUB_PATH = re.compile(r"/?([\w.-]+)/([\w.-]+?)(?:\.git)?/?", re.ASCII)


class Repository(Struct, frozen=True):
    """A working tree and where git keeps what it knows of it; all paths are real ones."""

    top: str
    git_dir: str
    # Of all its working trees together.
    common_dir: str

    def inside(self, folders: Sequence[str]) -> tuple[str, ...]:
        """Return folders as paths below the top; those elsewhere are left out, () = none is here.

        The top itself is ``.``.
        """
        found = []
        for folder in map(os.path.realpath, folders):
            if os.path.commonpath((folder, self.top)) == self.top:
                found.append(os.path.relpath(folder, self.top))
        return tuple(dict.fromkeys(found))


async def find_repository(program: GitProgram, folder: str) -> Repository | None:
    """Return the repository that a folder is in, or None.

    One that says that its files are elsewhere (``core.worktree``) is none of this folder's.
    """
    asked = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    try:
        told = await program.run(folder, "rev-parse", "--path-format=absolute", *asked)
    except GitFailed:
        return None
    lines = os.fsdecode(told).split("\n")
    # More of them: a path with a line break in it.
    if len(lines) != len(asked) + 1:
        return None
    top, git_dir, common_dir = map(os.path.realpath, lines[:-1])
    repository = Repository(top, git_dir, common_dir)
    return repository if repository.inside([folder]) else None


async def commit_of(program: GitProgram, repository: Repository, name: str = "HEAD") -> str | None:
    """Return the commit that a name stands for; None = none yet.

    Raises:
        GitFailed: git gave no answer. Without commits all files are new, so that must not be meant.
    """
    if name.startswith("-"):
        return None
    wanted = f"{name}^{{commit}}"
    return await _answer(program, repository, "rev-parse", "--verify", "--quiet", wanted)


async def empty_tree(program: GitProgram, repository: Repository) -> str:
    """Return the name of the tree without files, which depends on the repository's hashes."""
    asked = ("hash-object", "-t", "tree", "--stdin")
    told = await program.run(repository.top, *asked, patience=LONG_PATIENCE)
    return told.decode().strip()


async def current_branch(program: GitProgram, repository: Repository) -> str | None:
    """Return the branch that is checked out; None = none is."""
    try:
        told = await program.run(repository.top, "symbolic-ref", "--quiet", "--short", "HEAD")
    except GitFailed:
        return None
    return told.decode(errors="replace").strip() or None


async def base_branch(
    program: GitProgram, repository: Repository, wanted: str | None = None
) -> str | None:
    """Return the branch that the current one is to be compared with; None = there is none.

    The wanted one, else the one that the remote calls its own, else a usual name.

    Raises:
        GitFailed: git gave no answer.
    """
    current = await current_branch(program, repository)
    if wanted and wanted != current and await commit_of(program, repository, wanted):
        return wanted
    for name in (*await _remote_base(program, repository), *_USUAL_BASES):
        # On the main branch itself there is nothing to compare.
        if name == current:
            return None
        if await commit_of(program, repository, name):
            return name
    return None


async def _remote_base(program: GitProgram, repository: Repository) -> list[str]:
    asked = ("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    try:
        remote = (await program.run(repository.top, *asked)).decode(errors="replace").strip()
    except GitFailed:
        return []
    return [remote.removeprefix("origin/"), remote]


async def merge_base(
    program: GitProgram, repository: Repository, base: str, name: str = "HEAD"
) -> str | None:
    """Return the commit where two branches parted; None = they have nothing in common.

    Raises:
        GitFailed: git gave no answer.
    """
    ends = [await commit_of(program, repository, end) for end in (base, name)]
    if not ends[0] or not ends[1]:
        return None
    return await _answer(program, repository, "merge-base", ends[0], ends[1])


async def _answer(program: GitProgram, repository: Repository, *asked: str) -> str | None:
    """Return what git says in one line; None where it says no, which is an answer too."""
    try:
        told = await program.run(repository.top, *asked, patience=LONG_PATIENCE)
    except GitFailed as failure:
        # Too late, or killed.
        if failure.code is None or failure.code < 0:
            raise
        return None
    return told.decode().strip() or None


def github_repository(remote: str) -> tuple[str, str] | None:
    """Return owner and name of a repository on GitHub, from the address of a remote."""
    if "://" in remote:
        try:
            parts = urlsplit(remote)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return None
    else:
        # As ssh has it: user@host:path.
        host, _, path = remote.partition(":")
        host = host.rpartition("@")[2]
    found = _GITHUB_PATH.fullmatch(path)
    return (found[1], found[2]) if found and host.lower() == "github.com" else None
