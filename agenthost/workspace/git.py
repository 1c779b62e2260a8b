"""What git says of a folder: its branch, its upstream, and how much has changed.

Reads only, by the ``git`` program; a folder outside of any repository, a machine without git and a
repository that takes too long all give None.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Seconds, and bytes of output, after which a repository is too large to be looked at.
PATIENCE = 5.0
MOST_OUTPUT = 32 * 1024 * 1024
# A repository must not have programs of its own run just because somebody looks at it.
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
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


async def git_status(folder: str | Path) -> GitStatus | None:
    """Return the state of the repository that a folder is in, or None."""
    settings = await _git(folder, "config", "--get-regexp", r"^(remote\..*\.url|filter\..*)$")
    lines = [line.partition(" ") for line in (settings or "").splitlines()]
    filters = [("-c", f"{key}=") for key, _, _ in lines if key.endswith((".clean", ".process"))]
    off = [word for option in filters for word in option]
    status = await _git(folder, *off, "status", *_STATUS)
    if status is None:
        return None
    return read_porcelain(status, tuple(value for key, _, value in lines if key.endswith(".url")))


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


async def _git(folder: str | Path, *arguments: str) -> str | None:
    # In a thread: a child of the event loop whose end is noticed twice, when it is killed just as
    # it ends, would be complained about.
    return await asyncio.to_thread(_run, folder, arguments)


def _run(folder: str | Path, arguments: Sequence[str]) -> str | None:
    # A repository's configuration may name programs: they are not given the host's own secrets.
    inherited = {key: value for key, value in os.environ.items() if "AGENTHOST" not in key}
    try:
        process = subprocess.Popen(
            ["git", "-C", str(folder), *_HARMLESS, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Neither questions at somebody's terminal, nor locks in the way of somebody's work.
            env={**inherited, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, ValueError):
        return None
    impatience = threading.Timer(PATIENCE, process.kill)
    impatience.start()
    with process:
        assert process.stdout is not None
        output = process.stdout.read(MOST_OUTPUT + 1)
        if len(output) > MOST_OUTPUT:
            process.kill()
    impatience.cancel()
    whole = process.returncode == 0 and len(output) <= MOST_OUTPUT
    return output.decode(errors="replace") if whole else None
