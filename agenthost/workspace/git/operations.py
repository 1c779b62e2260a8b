"""What somebody wants done to a repository: files staged, changes committed.

Unlike everything else here, this is the user's own git at work: its hooks and filters run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from agenthost.workspace.git.program import LONG_PATIENCE, GitFailed, GitProgram
from agenthost.workspace.git.repository import Repository, commit_of

# Names are names, whatever characters they have; nobody is there to write a message.
_ENVIRONMENT = {"GIT_LITERAL_PATHSPECS": "1", "GIT_EDITOR": "true"}


async def stage(program: GitProgram, repository: Repository, paths: Sequence[str]) -> None:
    """Put files, below the top of the working tree, into the index as they are now.

    Raises:
        GitFailed: git says no; the index is as it was.
    """
    listed = b"".join(os.fsencode(path) + b"\0" for path in paths)
    # No path at all would be everything.
    if listed:
        words = ("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
        await _run(program, repository, *words, data=listed)


async def known_paths(
    program: GitProgram, repository: Repository, paths: Sequence[str]
) -> list[str]:
    """Return the paths that there is something to stage of.

    One that is neither there nor in the index, because that it is gone is staged already, is not.
    """
    told = await program.run(repository.top, "ls-files", "-z", patience=LONG_PATIENCE)
    indexed = set(os.fsdecode(told).split("\0"))

    def is_known(path: str) -> bool:
        return path in indexed or os.path.lexists(os.path.join(repository.top, path))

    return await asyncio.to_thread(lambda: [path for path in paths if is_known(path)])


async def has_staged(program: GitProgram, repository: Repository) -> bool:
    """Say whether the index differs from the last commit."""
    if await commit_of(program, repository) is None:
        return bool(await program.run(repository.top, "ls-files", "-z"))
    words = ("diff-index", "--cached", "--quiet", "--ignore-submodules=dirty", "HEAD", "--")
    try:
        await program.run(repository.top, *words)
    except GitFailed as failure:
        if failure.code == 1:
            return True
        raise
    return False


async def commit_changes(
    program: GitProgram, repository: Repository, message: str, paths: Sequence[str]
) -> str:
    """Commit what is staged, or else these files, and return the commit.

    Raises:
        GitFailed: a hook or git says no; the index is as it was, or as others made it meanwhile.
    """
    if await has_staged(program, repository):
        return await _commit(program, repository, message)
    saved, staged = await asyncio.to_thread(_read, repository), None
    try:
        await stage(program, repository, paths)
        staged = await _entries(program, repository)
        if not await has_staged(program, repository):
            raise GitFailed("there is nothing to commit")
        return await _commit(program, repository, message)
    except BaseException:
        await _restore(program, repository, saved, staged)
        raise


async def _commit(program: GitProgram, repository: Repository, message: str) -> str:
    data = message.encode(errors="replace")
    words = ("commit", "--quiet", "--cleanup=whitespace", "--file=-")
    await _run(program, repository, *words, data=data)
    commit = await commit_of(program, repository)
    if commit is None:
        raise GitFailed("the commit is not there")
    return commit


async def _run(program: GitProgram, repository: Repository, *words: str, data: bytes) -> None:
    await program.run(
        repository.top, *words, env=_ENVIRONMENT, data=data, patience=LONG_PATIENCE, as_user=True
    )


def _read(repository: Repository) -> bytes | None:
    with contextlib.suppress(FileNotFoundError):
        return Path(repository.git_dir, "index").read_bytes()
    return None


async def _entries(program: GitProgram, repository: Repository) -> bytes:
    words = ("ls-files", "--stage", "-z")
    return await program.run(repository.top, *words, patience=LONG_PATIENCE)


async def _restore(
    program: GitProgram, repository: Repository, saved: bytes | None, staged: bytes | None
) -> None:
    """Bring an index back, in the way in which git itself writes one.

    Not if somebody else has staged something since: a hook takes its time.
    """
    index, lock = (Path(repository.git_dir, name) for name in ("index", "index.lock"))
    try:
        await asyncio.to_thread(lock.touch, exist_ok=False)
    except OSError:
        # Whoever holds it by now is about to write another one, which is as well.
        return
    is_ours = True
    try:
        if staged is None or await _entries(program, repository) == staged:
            is_ours = False
            await asyncio.to_thread(_replace, index, lock, saved)
    finally:
        if is_ours:
            await asyncio.to_thread(lock.unlink, missing_ok=True)


def _replace(index: Path, lock: Path, saved: bytes | None) -> None:
    try:
        if saved is None:
            index.unlink(missing_ok=True)
            lock.unlink()
        else:
            lock.write_bytes(saved)
            lock.replace(index)
    except OSError:
        # Ours until it has replaced the index.
        lock.unlink(missing_ok=True)
        raise
