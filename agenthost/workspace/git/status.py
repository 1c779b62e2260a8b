"""What git says of a folder: its branch, its upstream, and how much has changed.

Reads only, by the ``git`` program; a folder outside of any repository, a machine without git and a
repository that takes too long all give None.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from agenthost.workspace.git.program import GitFailed, GitProgram

# Submodules have configurations of their own.
_STATUS = ("--porcelain=v2", "--branch", "--ignore-submodules=all")


@dataclass(frozen=True, slots=True)
class GitStatus:
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
