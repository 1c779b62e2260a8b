"""A real terminal for tests: tmux, typed into and looked at."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

__all__ = ["TMUX", "Terminal", "terminal"]

TMUX = shutil.which("tmux")

# Seconds that the screen may take to show something before the test is broken rather than slow.
PATIENCE = 60.0
POLL = 0.05

# What the tests of one run share neither with each other nor with whoever runs them.
_UNSET = ("TMUX", "NO_COLOR", "AGENTHOST_URL", "AGENTHOST_TOKEN", "AGENTHOST_DATA_DIR", "LC_ALL")


class Terminal:
    """One pane of a tmux server of its own."""

    def __init__(self, columns: int, rows: int, folder: str) -> None:
        self.size = (columns, rows)
        # Where the server has its socket, whose path must be short.
        self._folder = folder
        self._server = f"agenthost-test-{uuid.uuid4().hex[:12]}"

    async def start(self, command: str, cwd: Path) -> None:
        """Run a command; when it ends, its exit code stays on the screen."""
        columns, rows = self.size
        script = f"{command}; echo exit code $?; exec sleep 600"
        await self._tmux(
            "-u", "-f", "/dev/null", "new-session", "-d", "-s", "test",
            "-x", str(columns), "-y", str(rows), "-c", str(cwd), script,
        )  # fmt: skip

    async def chat(self, *options: str, cwd: Path, environment: str = "") -> None:
        """Run ``agenthost chat``."""
        words = (sys.executable, "-m", "agenthost.cli.main", "chat", *options)
        await self.start(f"{environment} {shlex.join(words)}", cwd)

    async def type(self, text: str) -> None:
        """Type text, without Enter."""
        await self._tmux("send-keys", "-t", "test", "-l", text)

    async def key(self, *names: str) -> None:
        """Press keys by tmux's names: Enter, C-c, Escape."""
        await self._tmux("send-keys", "-t", "test", *names)

    async def enter(self, text: str) -> None:
        """Type text and Enter."""
        if text:
            await self.type(text)
        await self.key("Enter")

    async def screen(self, *options: str) -> str:
        """Return what is on the screen; with ``-S -``, also what has scrolled off it."""
        return (await self._tmux("capture-pane", "-p", "-t", "test", *options)).rstrip()

    async def see(self, *texts: str, gone: str | None = None) -> str:
        """Wait until all texts are on the screen, and one is not; return the screen."""
        return await self._until(
            lambda shown: (
                all(text in shown for text in texts) and (gone is None or gone not in shown)
            ),
            f"{texts}, without {gone!r}",
        )

    async def see_any(self, *texts: str) -> str:
        """Wait until one of the texts is on the screen; return the screen."""
        return await self._until(
            lambda shown: any(text in shown for text in texts), f"any of {texts}"
        )

    async def _until(self, holds: Callable[[str], bool], wanted: str) -> str:
        shown = ""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    shown = await self.screen()
                    if holds(shown):
                        return shown
                    await asyncio.sleep(POLL)
        except TimeoutError:
            raise AssertionError(f"waited for {wanted}; saw:\n{shown}") from None

    async def resize(self, columns: int, rows: int) -> None:
        """Give its window another size."""
        await self._tmux("resize-window", "-t", "test", "-x", str(columns), "-y", str(rows))

    async def flag(self, name: str) -> str:
        """Return one of tmux's variables of the pane, such as ``cursor_flag``."""
        return (await self._tmux("display-message", "-p", "-t", "test", f"#{{{name}}}")).strip()

    async def close(self) -> None:
        """End the server and all that runs in it."""
        await self._tmux("kill-server", check=False)

    async def _tmux(self, *words: str, check: bool = True) -> str:
        assert TMUX is not None
        kept = {name: value for name, value in os.environ.items() if name not in _UNSET}
        process = await asyncio.create_subprocess_exec(
            TMUX, "-L", self._server, *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**kept, "LANG": "C.UTF-8", "TMUX_TMPDIR": self._folder},
        )  # fmt: skip
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert not check or process.returncode == 0, err.decode()
        return out.decode()


@asynccontextmanager
async def terminal(columns: int = 100, rows: int = 30) -> AsyncIterator[Terminal]:
    """Give a terminal for the length of a test."""
    with tempfile.TemporaryDirectory(prefix="tmux-", ignore_cleanup_errors=True) as folder:
        made = Terminal(columns, rows, folder)
        try:
            yield made
        finally:
            await made.close()
