"""Real terminals for tests, and what they show."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import pytest

from agenthost.workspace.pty.command_tracker import CommandBegan, CommandEnded, TerminalEvent
from agenthost.workspace.pty.interpreter import OutputInterpreter
from agenthost.workspace.pty.osc import Printed
from agenthost.workspace.pty.process import InputRefused, Pty
from agenthost.workspace.pty.shells import ShellLaunch, interactive

PATIENCE = 60.0


def shell(name: str) -> str:
    """Return where a program is; without it a test is skipped. ``.ci/run`` installs those."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no {name} on this machine")
    return path


def variables(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "AGENTHOST_TOKEN": "secret"}


def parent(process: int) -> int:
    """Return the id of a process's parent."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def keepers() -> list[int]:
    """Return the keepers that this process has."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            keeping = b"keeper.py" in (folder / "cmdline").read_bytes()
            if keeping and parent(int(folder.name)) == os.getpid():
                found.append(int(folder.name))
    return found


class RunningTerminal:
    """A terminal and all that it has shown so far."""

    def __init__(self, launch: ShellLaunch, cwd: Path, cols: int = 80, rows: int = 24) -> None:
        self._launch = launch
        self._cwd = cwd
        self._size = cols, rows
        self._news = asyncio.Event()
        self.events: list[TerminalEvent] = []
        self.received = 0
        self.behind = False
        self.interpreter = OutputInterpreter(self._answer, nonce=launch.nonce)
        self.pty: Pty

    @classmethod
    def interactive(
        cls, name: str, home: Path, more: Mapping[str, str] | None = None
    ) -> RunningTerminal:
        given = {**variables(home), **(more or {})}
        return cls(interactive(shell(name), given, unattended=True), home)

    async def __aenter__(self) -> RunningTerminal:
        self.pty = await Pty.start(
            self._launch.words,
            env=self._launch.env,
            cwd=str(self._cwd),
            cols=self._size[0],
            rows=self._size[1],
            on_output=self._show,
            behind=lambda: self.behind,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.pty.close()

    def _show(self, data: bytes) -> None:
        self.received += len(data)
        self.events += self.interpreter.feed(data, time.time())
        self._news.set()

    def _answer(self, text: str) -> None:
        with contextlib.suppress(InputRefused):
            self.type(text)

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Printed))

    def type(self, text: str) -> None:
        self.pty.write(text.encode())

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not done():
                self._news.clear()
                await self._news.wait()

    async def run(self, line: str) -> tuple[CommandBegan, str, CommandEnded]:
        """Type a line, and return the command, its output and its end."""
        await self.until(lambda: self.interpreter.tracker.detected)
        self.events.clear()
        self.type(line + "\r")
        await self.until(lambda: any(isinstance(event, CommandEnded) for event in self.events))
        began = next(e for e in self.events if isinstance(e, CommandBegan))
        ended = next(e for e in self.events if isinstance(e, CommandEnded))
        output = self.events[self.events.index(began) : self.events.index(ended)]
        return began, "".join(e.text for e in output if isinstance(e, Printed)), ended
