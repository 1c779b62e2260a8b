"""Setting up a clone: what is said, what is installed first, and what happens when that fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.progress import Failed, fitted
from tools.setup import PipOutput
from tools.web import ROOT

# Stands in for uv: keeps what it was told, and makes no more than what is looked for.
UV = """#!/bin/sh
echo "$@" >>"$CALLS"
case $1 in
venv) for last; do :; done; mkdir -p "$last/bin"; ln -s "$PYTHON" "$last/bin/python" ;;
*) echo 'Resolved 3 packages in 1ms'; exit "${FAILS:-0}" ;;
esac
"""
# Stands in for the Python of an environment whose pip finds no network.
OFFLINE_PYTHON = """#!/bin/sh
echo 'WARNING: Retrying (Retry(total=0)): Temporary failure in name resolution'
echo 'ERROR: No matching distribution found for orjson>=3.10'
exit 1
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A tree with the tools, whose page is built already."""
    tree = tmp_path / "clone"
    shutil.copytree(ROOT / "tools", tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "agenthost").mkdir()
    (tree / "web").mkdir()
    shutil.copy(ROOT / "pyproject.toml", tree)
    shutil.copy(ROOT / "agenthost" / "version.py", tree / "agenthost")
    keep = "from tools import web; web.STATIC.mkdir(parents=True); "
    keep += "(web.STATIC / web.STAMP).write_text(web.built_from())"
    subprocess.run([sys.executable, "-c", keep], cwd=tree, check=True)
    return tree


def prepared(
    clone: Path, kind: str, *, uv: bool = True, **variables: str
) -> subprocess.CompletedProcess[str]:
    programs = clone.parent / "programs"
    programs.mkdir(exist_ok=True)
    if uv:
        (programs / "uv").write_text(UV)
        (programs / "uv").chmod(0o755)
    return subprocess.run(
        [sys.executable, "-m", "tools.setup", kind],
        cwd=clone,
        env={
            # Where there is no uv to be found, nothing else is.
            "PATH": f"{programs}:/usr/bin:/bin" if uv else "/nowhere",
            "PYTHON": sys.executable,
            "CALLS": str(clone.parent / "calls"),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )


def calls(clone: Path) -> list[str]:
    return (clone.parent / "calls").read_text().splitlines()


def test_what_a_host_needs_comes_first_step_by_step_and_only_once(clone: Path) -> None:
    done = prepared(clone, "run")
    assert done.returncode == 0, done.stderr
    assert "[1/2] making an environment for Python in .venv …" in done.stdout
    assert "[2/2] installing what a host and its agents need: done in " in done.stdout
    made, installed = calls(clone)
    assert made.startswith("venv ")
    assert installed.endswith("--editable .[acp,llm,mcp,testing]")
    again = prepared(clone, "run")
    assert (again.returncode, again.stdout, len(calls(clone))) == (0, "", 2)
    # What only the tests need is installed when they are asked for, and a host needs no more then.
    assert "[1/1] installing what the tests need" in prepared(clone, "dev").stdout
    assert calls(clone)[2:] == [installed.replace("acp,llm,mcp,testing", "dev")]
    (clone / ".venv" / ".installed-run").unlink()
    assert prepared(clone, "run").stdout == ""


def test_a_new_version_is_installed_anew(clone: Path) -> None:
    prepared(clone, "run")
    (clone / "agenthost" / "version.py").write_text('__version__ = "99.0"\n')
    assert "[1/1] installing" in prepared(clone, "run").stdout


def test_a_failure_is_told_in_words_with_the_last_lines_and_what_to_do(clone: Path) -> None:
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").write_text(OFFLINE_PYTHON)
    (clone / ".venv" / "bin" / "python").chmod(0o755)
    done = prepared(clone, "run", uv=False)
    assert done.returncode == 1
    assert "the package index cannot be reached" in done.stderr
    assert "    ERROR: No matching distribution found for orjson>=3.10" in done.stderr
    assert "`make run` tries again" in done.stderr
    assert "Traceback" not in done.stderr
    # Where uv fails, for it does not know where pip's packages come from, pip is tried.
    done = prepared(clone, "run", FAILS="2")
    assert "uv could not install it" in done.stdout
    assert "ERROR: No matching distribution" in done.stderr


def test_how_far_pip_is_is_counted(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3" / "site-packages"
    (site / "pip-24.dist-info").mkdir(parents=True)
    pip = PipOutput(tmp_path)
    assert pip.state() == ""
    for line in ("Collecting orjson>=3.10", "  Downloading orjson.whl (1 kB)", "Collecting segno"):
        pip.hear(line)
    assert pip.state() == "2 packages found"
    pip.hear("Installing collected packages: orjson, segno, agenthost")
    assert pip.state() == "0 of 3 packages"
    (site / "orjson-3.dist-info").mkdir()
    assert pip.state() == "1 of 3 packages"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("ensurepip is not available", "install python3-venv"),
        ("something else", "pip install did not work"),
    ],
)
def test_why_a_program_failed_is_found_in_what_it_said(line: str, why: str) -> None:
    assert why in str(Failed("pip install", ["first", line]))


def test_a_narrow_terminal_shows_how_far_a_step_is_rather_than_its_whole_name() -> None:
    assert fitted("[1/2] installing", "3 s", 80) == "[1/2] installing: 3 s"
    assert fitted("[1/2] installing all of it", "12 of 41 packages", 30) == (
        "[1/2] inst…: 12 of 41 packages"
    )
    assert len(fitted("[1/2] installing all of it", "12 of 41 packages", 10)) == 10
