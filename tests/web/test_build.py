"""What the build of the page says where it cannot be done, and that the host's set-up goes on."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.web.browsing import ROOT


def built(clone: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    if not variables.get("CI"):
        environment.pop("CI", None)
    return subprocess.run(
        [sys.executable, clone / "tools" / "web.py", "build", *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A tree with the tools and no page's source."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "web.py", tmp_path / "tools")
    return tmp_path


def test_a_tree_that_cannot_be_built_in_is_told_in_a_sentence(clone: Path) -> None:
    done = built(clone)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(clone / "web") in done.stderr


def test_set_up_goes_on_without_the_page_but_says_so_loudly(clone: Path) -> None:
    done = built(clone, "--lenient")
    assert done.returncode == 0
    assert "THE WEB PAGE IS NOT BUILT" in done.stderr
    assert built(clone, "--lenient", CI="1").returncode == 1


def test_why_the_packages_could_not_be_fetched_is_told(clone: Path) -> None:
    (clone / "web").mkdir()
    (clone / "web" / "package.json").write_text('{"name": "page", "dependencies": {"x": "1"}}')
    # Of which the lock file knows nothing.
    (clone / "web" / "package-lock.json").write_text('{"lockfileVersion": 3, "packages": {}}')
    node = subprocess.check_output([sys.executable, ROOT / "tools" / "web.py", "node"], text=True)
    done = built(clone, NODE=node.splitlines()[-1])
    assert done.returncode == 1
    assert "npm error" in done.stderr


def test_a_page_that_is_built_already_needs_nobody_to_be_waited_for(clone: Path) -> None:
    (clone / "web").mkdir()
    (clone / "web" / "index.html").write_text("<!doctype html>")
    keep = "import web; web.STATIC.mkdir(parents=True); s = web.STATIC / web.STAMP; "
    keep += "s.write_text(web.built_from())"
    subprocess.run([sys.executable, "-c", keep], cwd=clone / "tools", check=True)
    # Somebody else installs something, or the file system has no locks.
    folder = os.open(clone / "web", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        assert built(clone).returncode == 0
    finally:
        os.close(folder)
