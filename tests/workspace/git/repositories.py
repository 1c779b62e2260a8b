"""Real repositories for tests, in every state that users leave them in."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.com")
QUIET = ("-c", "gc.auto=0", "-c", "protocol.file.allow=always", "-c", "advice.detachedHead=false")


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as its user would."""
    words = ["git", "-C", str(folder), *IDENTITY, *QUIET, *arguments]
    done = subprocess.run(words, check=check, capture_output=True)
    return done.stdout.decode(errors="surrogateescape").strip()


def repository(folder: Path) -> Path:
    """Make a repository with two files and a commit."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a").write_text("a\n" * 20)
    (folder / "b").write_text("b\n")
    commit(folder, "first")
    return folder


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def digest(folder: Path) -> dict[str, str]:
    """Return everything that a repository consists of."""
    files = sorted(path for path in (folder / ".git").rglob("*") if path.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def status(folder: Path) -> set[str]:
    """Return the names that differ from HEAD, as the user's git says."""
    words = ("--porcelain=v1", "-z", "--no-renames", "-uall", "--ignore-submodules=dirty")
    done = subprocess.run(
        ["git", "-C", str(folder), "status", *words], check=True, capture_output=True
    )
    fields = done.stdout.decode(errors="surrogateescape").split("\0")
    return {field[3:] for field in fields if field}
