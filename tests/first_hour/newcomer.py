"""Somebody who has just cloned the repository: the clone, a home of their own, shells."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.cli.interactive.terminal import POLL, Terminal, terminal

ROOT = Path(__file__).parents[2]
STATIC = Path("agenthost", "web", "static")
PROMPT = "newcomer:"
# Seconds that a command may take: somebody else's tests are among them.
PATIENCE = 60.0
# Stands in for the script that an installer writes.
SCRIPT = """#!{python}
import sys
from agenthost.cli.main import main
sys.exit(main())
"""
STAMP = "from tools import setup; setup._stamp('run').write_text(setup.identity())"


class Shell:
    """A terminal in which one types command lines."""

    def __init__(self, tty: Terminal) -> None:
        self.tty = tty
        self._commands = 0

    async def run(self, command: str) -> str:
        """Run a command that ends well; return the screen with what it printed."""
        self._commands += 1
        await self.tty.enter(f'clear; {command}; echo "command {self._commands}:" $?')
        ended = await self.until(rf"^command {self._commands}: (\d+)$")
        assert ended[1] == "0", ended.string
        return ended.string

    async def until(self, pattern: str) -> re.Match[str]:
        """Wait until the screen matches, line by line; what was too long for one is one again."""
        shown = ""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    shown = await self.tty.screen("-J")
                    found = re.search(pattern, shown, re.MULTILINE)
                    if found is not None:
                        return found
                    await asyncio.sleep(POLL)
        except TimeoutError:
            raise AssertionError(f"waited for {pattern}; saw:\n{shown}") from None

    async def see(self, *texts: str) -> None:
        """Wait until all texts are on the screen."""
        await self.until("".join(rf"(?=[\s\S]*{re.escape(text)})" for text in texts))

    async def leave(self, key: str) -> None:
        """Press the key that ends what runs, and wait for the shell."""
        await self.tty.key(key)
        await self.until(f"^{PROMPT}$")


def clone(folder: Path) -> Path:
    """Clone the repository; its packages and its page are there already, as after ``make setup``.

    What is installed is installed in reality by ``make dist``, and by CI before any test.
    """
    made = folder / "agenthost"
    # The clone belongs to whoever runs the tests, and the repository may not.
    (folder / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(
        ["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(made)],
        env={**kept, "HOME": str(folder)},
        check=True,
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made / ".venv"], check=True)
    (site,) = (made / ".venv").glob("lib/*/site-packages")
    (site / "agenthost.pth").write_text(f"{made}\n{sysconfig.get_path('purelib')}\n")
    program = made / ".venv" / "bin" / "agenthost"
    program.write_text(SCRIPT.format(python=made / ".venv" / "bin" / "python"))
    program.chmod(0o755)
    subprocess.run([sys.executable, "-c", STAMP], cwd=made, check=True)
    (made / STATIC.parent).mkdir()
    (made / STATIC).symlink_to(ROOT / STATIC)
    return made


@asynccontextmanager
async def shell(home: Path, cwd: Path, columns: int = 120) -> AsyncIterator[Shell]:
    """Give a terminal with a shell of somebody whose home this is."""
    words = [
        "env", "-u", "GIT_DIR", "-u", "PYTHONPATH", f"HOME={home}", f"PS1={PROMPT}", "LESS=",
        # A newcomer has pytest and none of the plugins of our own tests.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", "sh",
    ]  # fmt: skip
    async with terminal(columns, 40) as tty:
        await tty.start(shlex.join(words), cwd)
        made = Shell(tty)
        await made.until(f"^{PROMPT}$")
        yield made
