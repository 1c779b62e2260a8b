"""The npm packages that tests run as servers, installed by their lock file into ``.venv``."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from tools.web import find_node

__all__ = ["NpmMissing", "everything_server"]

DECLARED = Path(__file__).parent / "npm"
INSTALLED = Path(__file__).parent.parent.parent / ".venv" / "npm-mcp"
ENTRY = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


class NpmMissing(Exception):
    """The packages are not there and cannot, or must not, be fetched."""


def everything_server() -> tuple[str, ...]:
    """Return the command that runs the reference server; its packages are fetched in CI alone.

    Raises:
        NpmMissing: it cannot be run here.
    """
    node = find_node()
    if node is None:
        raise NpmMissing("there is no Node")
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with (INSTALLED / ".lock").open("w") as lock:
        # Tests that run side by side fetch once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install(node)
    return (str(node), str(INSTALLED / ENTRY), "stdio")


def _install(node: Path) -> None:
    wanted = hashlib.sha256((DECLARED / "package-lock.json").read_bytes()).hexdigest()
    stamp = INSTALLED / ".stamp"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not os.environ.get("CI"):
        raise NpmMissing("its packages are fetched from the npm registry in CI alone; set CI=1")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(DECLARED / name, INSTALLED)
    npm = node.resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node, npm] if npm.exists() else ["npm"]
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(
        [*command, "ci", *quiet], cwd=INSTALLED, env={**os.environ, "PATH": path}, check=True
    )
    stamp.write_text(wanted)
