"""A wheel made of a clean copy holds the page, and a host installed from it needs no Node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.web.browsing import ROOT, page_required

pytestmark = page_required


def copied(folder: Path) -> Path:
    """Copy what a clone of this tree would have; the page's packages are only linked."""
    listed = subprocess.check_output(
        ["git", "--git-dir", ROOT / ".git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        text=True,
    )
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / "web" / "node_modules").symlink_to(ROOT / "web" / "node_modules")
    return folder


def serving(installed: Path, folder: Path) -> subprocess.Popen[str]:
    """Start the installed host where neither this tree nor Node can be found."""
    return subprocess.Popen(
        [
            sys.executable, "-m", "agenthost.cli.main", "serve",
            "--port", "0", "--data-dir", folder / "data",
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(installed), "PATH": "/nowhere", "HOME": str(folder)},
    )  # fmt: skip


def told_address(host: subprocess.Popen[str]) -> str:
    """Return where a host says that its page is."""
    assert host.stdout is not None
    for line in host.stdout:
        found = re.search(r"page +(http://[^/]+)/#tkn=", line)
        if found is not None:
            return found[1]
    raise AssertionError("the host did not start")


def test_a_wheel_of_a_clean_copy_serves_the_page_without_node(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    clone, installed = copied(tmp_path / "clone"), tmp_path / "installed"
    node = subprocess.check_output([sys.executable, ROOT / "tools" / "web.py", "node"], text=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    quick = ("--no-deps", "--no-build-isolation", "--no-index")
    subprocess.run(
        [*pip, "wheel", *quick, "--wheel-dir", tmp_path, clone],
        check=True,
        env={**os.environ, "NODE": node.strip()},
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if "node_modules" in name or name.startswith("web/")]
    subprocess.run([*pip, "install", *quick, "--target", installed, wheel], check=True)

    host = serving(installed, tmp_path)
    try:
        address = told_address(host)
        page = urlopen(f"{address}/s/any").read().decode()
        script = re.search(r'src="(/assets/[^"]+)"', page)
        assert script is not None
        assert len(urlopen(address + script[1]).read()) > 1000
    finally:
        host.terminate()
        host.communicate()
