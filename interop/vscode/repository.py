"""The git repository that VS Code and our sessions work in."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["make_repository"]

FILES = {
    "README.md": "# A small project\n",
    ".gitignore": "*.log\n",
    "src/reckoning.py": "def double(number):\n    return number + number\n",
    "src/greetings.py": "def greet(name):\n    return f'Hello {name}'\n",
    "tests/test_reckoning.py": "from src.reckoning import double\n\nassert double(2) == 4\n",
}
# Nobody's settings but these: a run must not depend on who makes it.
IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


def make_repository(folder: Path) -> None:
    """Make a repository with one commit on its branch and another branch beside it."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    # Ignored by git: no completion may offer it.
    (folder / "build.log").write_text("nothing to see\n")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    git(folder, "branch", "another-way")


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return what it said."""
    command = ("git", "-C", str(folder), *IDENTITY, *words)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
