"""Builds what is released into ``dist``, and tries it in an environment that has nothing else.

``python -m tools.dist``: a source archive of this tree, a wheel of that archive, and then what
somebody does first who installs the wheel: start a host, open its page, ask something. With
``--offline`` the packages that the wheel asks for come from here, not from the package index.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from email.parser import HeaderParser
from importlib.metadata import Distribution, distribution
from pathlib import Path
from urllib.request import urlopen

from packaging.requirements import Requirement

from agenthost.version import __version__
from tools.progress import Failed, Progress, follow
from tools.web import ROOT

NAME = f"agenthost-{__version__}"
# What must be in which archive, by the ends of names; the page's parts have names of their own.
IN_WHEEL = (
    "agenthost/version.py",
    "agenthost/py.typed",
    "agenthost/templates/agent/agent.py.tmpl",
    "agenthost/web/static/index.html",
    "agenthost/web/static/.build",
)
IN_SOURCES = ("CHANGELOG.md", "LICENSE", "README.md", "deploy/Containerfile", "docs/running.md")
# What must not be in either, because it is somebody's own or a hundred megabytes.
NOWHERE = re.compile(r"node_modules|__pycache__|\.venv|^tests/|\.sqlite")
# A page that does anything is not smaller, in bytes of scripts.
LEAST_PAGE = 100_000
# Seconds in which a host answers, on a machine that has a lot to do.
PATIENCE = 60.0


class Wrong(Exception):
    """Something that must not be released, in a sentence."""


def main(arguments: list[str]) -> int:
    """Build, check, try; 0 when all of it can be released."""
    parser = argparse.ArgumentParser(prog="tools.dist", description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "dist", metavar="DIR")
    parser.add_argument("--offline", action="store_true")
    args = parser.parse_args(arguments)
    args.into.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            built = release(args.into, Path(folder), offline=args.offline)
    except Failed as failure:
        print("\n".join([f"\n{failure}:", *failure.last_lines]), file=sys.stderr)
        return 1
    except Wrong as wrong:
        print(f"\nnot to be released: {wrong}", file=sys.stderr)
        return 1
    print("\n".join(f"  {path}  {path.stat().st_size / 1e6:.1f} MB" for path in built))
    return 0


def release(into: Path, scratch: Path, *, offline: bool) -> tuple[Path, Path]:
    """Build both archives into a folder, see what is in them, and try the wheel."""
    with Progress(f"[1/4] building the source archive of {NAME}"):
        sources = build(ROOT, "sdist", into)
        check_names(sources_in(sources), IN_SOURCES)
    with Progress("[2/4] building the wheel from it, without Node"):
        wheel = build(unpack(sources, scratch), "wheel", into)
        check_names(zipfile.ZipFile(wheel).namelist(), IN_WHEEL)
    with Progress("[3/4] installing it into an environment that has nothing else"):
        environment = install(wheel, scratch / "environment", offline=offline)
    with Progress("[4/4] starting a host, opening its page, asking something"):
        try_out(environment, scratch / "home")
    return sources, wheel


def build(tree: Path, target: str, into: Path) -> Path:
    """Build one archive of a tree and return it."""
    # Only what is here already: neither Node nor anything that npm would fetch.
    nothing = {} if target == "sdist" else {"PATH": "/nowhere"}
    command = (sys.executable, "-m", "hatchling", "build", "-t", target, "-d", into)
    follow(*command, cwd=tree, environment={**os.environ, **nothing})
    name = f"{NAME}.tar.gz" if target == "sdist" else f"{NAME}-py3-none-any.whl"
    return into / name


def sources_in(archive: Path) -> list[str]:
    """Return the names of the files of a source archive, without its first folder."""
    with tarfile.open(archive) as opened:
        return [name.partition("/")[2] for name in opened.getnames()]


def check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    """See that what must be there is, and what must not is not."""
    missing = [name for name in wanted if name not in names]
    if missing:
        raise Wrong(f"{', '.join(missing)} is missing")
    strange = [name for name in names if NOWHERE.search(name)]
    if strange:
        raise Wrong(f"{', '.join(strange[:3])} should not be in there")


def unpack(archive: Path, scratch: Path) -> Path:
    """Unpack a source archive; return its folder."""
    with tarfile.open(archive) as opened:
        opened.extractall(scratch, filter="data")
    return scratch / NAME


def install(wheel: Path, environment: Path, *, offline: bool) -> Path:
    """Make an environment with the wheel and what it asks for; return its folder of programs."""
    follow(sys.executable, "-m", "venv", "--without-pip", environment)
    python, uv = environment / "bin" / "python", shutil.which("uv")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    if offline:
        (site,) = environment.glob("lib/*/site-packages")
        lend(wheel, site)
        follow(*pip, "install", "--no-deps", "--no-index", "--no-compile", wheel)
    elif uv is None:
        follow(*pip, "install", wheel)
    else:
        follow(uv, "pip", "install", "--python", python, wheel)
    return environment / "bin"


def lend(wheel: Path, site: Path) -> None:
    """Link the packages that a wheel asks for, and nothing else that is installed here."""
    with zipfile.ZipFile(wheel) as opened:
        metadata = HeaderParser().parsestr(opened.read(f"{NAME}.dist-info/METADATA").decode())
    for found in needed(metadata.get_all("Requires-Dist", [])).values():
        for file in found.files or ():
            first = file.parts[0]
            if first not in ("..", "__pycache__") and not (site / first).exists():
                (site / first).symlink_to(Path(str(found.locate_file(first))))


def needed(requirements: Sequence[str]) -> dict[str, Distribution]:
    """Return what requirements lead to, here, without anybody's extras."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        asked = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        if asked and wanted.name not in found:
            found[wanted.name] = distribution(wanted.name)
            waiting += [Requirement(text) for text in found[wanted.name].requires or ()]
    return found


def try_out(programs: Path, home: Path) -> None:
    """Do what somebody does first: start a host, open its page, ask something in two ways."""
    home.mkdir()
    # Neither this tree nor its environment nor Node can be found from there.
    environment = {"PATH": "/nowhere", "HOME": str(home)}
    agenthost = programs / "agenthost"
    told = _output([agenthost, "--version"], home, environment)
    if told.strip() != f"agenthost {__version__}":
        raise Wrong(f"--version says {told!r}")
    with serving(agenthost, home, environment) as address:
        open_page(address)
        answer = _output([agenthost, "send", "hello"], home, environment)
        if "You said hello" not in answer.replace("**", ""):
            raise Wrong(f"send answers {answer!r}")
        chat = _output([agenthost, "chat", "--json"], home, environment, given="good day\n")
        events = [json.loads(line) for line in chat.splitlines()]
        if not any("good day" in json.dumps(event) for event in events):
            raise Wrong(f"chat answers {chat!r}")


@contextlib.contextmanager
def serving(agenthost: Path, home: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run a host as it is installed; give the address of its page."""
    with subprocess.Popen(
        [agenthost, "serve", "--port", "0"], cwd=home, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    ) as host:  # fmt: skip
        try:
            yield _address(host)
        finally:
            host.terminate()
            host.communicate()


def _address(host: subprocess.Popen[str]) -> str:
    assert host.stdout is not None
    said = []
    for line in host.stdout:
        said.append(line.rstrip())
        found = re.search(r"page +(http://[^/]+)/#tkn=", line)
        if found is not None:
            return found[1]
    raise Failed("agenthost serve", said)


def open_page(address: str) -> None:
    """Load the page and its scripts, as a browser does."""
    page = urlopen(f"{address}/s/any", timeout=PATIENCE).read().decode()
    scripts = re.findall(r'(?:src|href)="(/assets/[^"]+\.js)"', page)
    size = sum(len(urlopen(address + name, timeout=PATIENCE).read()) for name in scripts)
    if size < LEAST_PAGE:
        raise Wrong(f"the page has {size} bytes of scripts")


def _output(
    command: Sequence[str | Path], cwd: Path, environment: dict[str, str], given: str = ""
) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=environment, input=given, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
    )  # fmt: skip
    if done.returncode:
        raise Failed(" ".join(map(str, command)), done.stdout.splitlines())
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
