"""Makes ``.venv`` ready, with the web page, and says what it does and how far it is.

``python -m tools.setup run | dev | docs``: what ``make run`` needs, what the tests need besides, or
what builds the documentation. Nothing but Python is needed; where there is ``uv``, it is used. What
is there already is not made again.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tools import web
from tools.progress import Failed, Progress, follow

ROOT, VENV = web.ROOT, web.VENV
PYTHON = VENV / "bin" / "python"
LOG = VENV / "setup.log"
LEAST_PYTHON = (3, 11)

# What is installed for which kind of work. Whoever runs a host may write an agent with a test next.
EXTRAS = {"run": "acp,llm,mcp,testing", "dev": "dev", "docs": "docs"}
TITLES = {
    "run": "installing what a host and its agents need",
    "dev": "installing what the tests need",
    "docs": "installing what builds the documentation",
}
VERBS = {"run": "run", "dev": "setup", "docs": "docs"}
# What the tests need contains what a host needs.
COVERED_BY = {"run": ("run", "dev"), "dev": ("dev",), "docs": ("docs",)}
# Of these an installed package keeps a copy of its own.
INSTALLED_FROM = ("pyproject.toml", "agenthost/version.py")

Step = Callable[[Progress], None]


def main(arguments: list[str]) -> int:
    """Do what is missing; 0 when all is there."""
    parser = argparse.ArgumentParser(prog="tools.setup", description=__doc__)
    parser.add_argument("kind", choices=tuple(EXTRAS))
    kind = parser.parse_args(arguments).kind
    if sys.version_info < LEAST_PYTHON:
        least = ".".join(map(str, LEAST_PYTHON))
        print(f"agenthost needs Python {least} or newer; set PYTHON=…", file=sys.stderr)
        return 1
    try:
        prepare(kind)
    except Failed as failure:
        _tell(failure, VERBS[kind])
        return 1
    except KeyboardInterrupt:
        print(f"Stopped; `make {VERBS[kind]}` goes on from here.", file=sys.stderr)
        return 130
    return 0


def prepare(kind: str) -> None:
    """Take the steps that are missing, one after the other."""
    if not _missing(kind):
        # Also where nothing can be written, or locked.
        return
    with _alone():
        steps = _missing(kind)
        for number, (title, step) in enumerate(steps, start=1):
            with Progress(f"[{number}/{len(steps)}] {title}") as progress:
                step(progress)


def _missing(kind: str) -> list[tuple[str, Step]]:
    """Return the steps that have to be taken."""
    steps: list[tuple[str, Step]] = []
    # A link to a Python that is gone is no file.
    if not PYTHON.exists():
        steps.append(("making an environment for Python in .venv", make_environment))
    if steps or not installed(kind):
        steps.append((TITLES[kind], partial(install, kind)))
    if web.is_stale():
        steps.append(("building the web page", build_page))
    return steps


def make_environment(progress: Progress) -> None:
    """Make ``.venv``, with pip in it."""
    uv = shutil.which("uv")
    if uv is not None:
        with contextlib.suppress(Failed):
            follow(uv, "venv", "--clear", "--seed", "--python", sys.executable, VENV)
            return
    follow(sys.executable, "-m", "venv", "--clear", VENV)


def install(kind: str, progress: Progress) -> None:
    """Install this package, as it lies here, with what it needs for a kind of work."""
    package, is_first = f".[{EXTRAS[kind]}]", not _stamp(kind).exists()
    uv = shutil.which("uv")
    if uv is None or not _install_with_uv(uv, package, progress):
        _install_with_pip(package, progress, compiled=kind == "dev" and not is_first)
    if kind == "dev":
        # Compiling takes time and warns of what packages do: tests want neither while they run.
        progress.state = lambda: "compiling"
        folders = [ROOT / "agenthost", *(VENV.glob("lib/*/site-packages") if is_first else ())]
        subprocess.run([PYTHON, "-m", "compileall", "-qq", "-j", "0", *folders], check=False)
    _stamp(kind).write_text(identity())


def installed(kind: str) -> bool:
    """Say whether what a kind of work needs is there, as it is asked for now."""
    wanted = identity()
    for stamp in map(_stamp, COVERED_BY[kind]):
        with contextlib.suppress(OSError):
            if stamp.read_text() == wanted:
                return True
    return False


def identity() -> str:
    """Return the hash of what decides what is installed."""
    digest = hashlib.sha256()
    for name in INSTALLED_FROM:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()[:16]


def build_page(progress: Progress) -> None:
    """Build the web page; a host runs without it too, so that only CI fails."""
    last = ""

    def hear(line: str) -> None:
        nonlocal last
        # Its own words, not those of npm.
        if line.endswith(" …"):
            last = line.removesuffix(" …")

    progress.state = lambda: last
    said = follow(PYTHON, ROOT / "tools" / "web.py", "build", "--lenient", heard=hear, log=LOG)
    if web.is_stale():
        print("\n".join(["", *said]), file=sys.stderr)


class PipOutput:
    """How far pip is, by what it prints and by what is in place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found = 0
        # Of packages: how many there were before, and how many come.
        self._before = len(self._in_place())
        self._coming = 0

    def hear(self, line: str) -> None:
        """Take in a line."""
        first, _, rest = line.strip().partition(" ")
        if first == "Collecting":
            self._found += 1
        elif line.startswith("Installing collected packages:"):
            self._coming = rest.count(",") + 1
            self._before = len(self._in_place())

    def state(self) -> str:
        """Say how far it is."""
        if not self._coming:
            return f"{self._found} packages found" if self._found else ""
        done = min(len(self._in_place()) - self._before, self._coming)
        return f"{max(done, 0)} of {self._coming} packages"

    def _in_place(self) -> list[Path]:
        return list(self._folder.glob("lib/*/site-packages/*.dist-info"))


def _install_with_pip(package: str, progress: Progress, *, compiled: bool) -> None:
    pip = PipOutput(VENV)
    progress.state = pip.state
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    if not compiled:
        # What is imported is compiled then, which is less.
        options.append("--no-compile")
    command: list[str | Path] = [PYTHON, "-m", "pip", "install", *options, "--editable", package]
    follow(*command, heard=pip.hear, cwd=ROOT, log=LOG)


def _install_with_uv(uv: str, package: str, progress: Progress) -> bool:
    """Say whether uv could do it: it does not read pip's settings, and may look elsewhere."""
    last = "with uv"

    def hear(line: str) -> None:
        nonlocal last
        last = line.strip()

    progress.state = lambda: last
    command = (uv, "pip", "install", "--python", PYTHON, "--editable", package)
    try:
        follow(*command, heard=hear, cwd=ROOT, log=LOG)
    except Failed as failure:
        print(f"\nuv could not install it ({failure}); trying pip", flush=True)
        return False
    return True


def _stamp(kind: str) -> Path:
    return VENV / f".installed-{kind}"


def _tell(failure: Failed, verb: str) -> None:
    lines = "\n".join(f"    {line}" for line in failure.last_lines)
    kept = f" All of it is in {LOG.relative_to(ROOT)}." if LOG.exists() else ""
    print(
        f"\nThat did not work: {failure}. The last words of `{failure.tried} …`:\n{lines}\n"
        f"What was fetched is kept; `make {verb}` tries again.{kept}",
        file=sys.stderr,
    )


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep out everybody else who would install in this clone."""
    folder = os.open(ROOT / "tools", os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another make in this clone …", flush=True)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
