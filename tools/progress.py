"""Steps that say what they do and how far they are, for the tools of this folder.

On a terminal a step is one line that changes; elsewhere, as in CI, a line now and then.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

__all__ = ["Failed", "Progress", "fitted", "follow"]

# Seconds between two drawings on a terminal, and between two lines elsewhere.
REDRAW, PATIENCE = 0.2, 10.0
# Lines of a program's own words that are kept, and that are shown when it failed.
KEPT, SHOWN = 200, 12

_REASONS = (
    (
        r"name resolution|[Cc]onnection (refused|reset)|[Tt]imed out|Max retries|dns error"
        r"|error sending request|Network is unreachable|Could not fetch|ENOTFOUND|ECONNREFUSED",
        "the package index cannot be reached",
    ),
    (r"from versions: none", "the package index cannot be reached, or lacks a package"),
    (r"No space left|ENOSPC", "the disk is full"),
    (r"Permission denied|Read-only file system|EACCES|EROFS", "something may not be written"),
    (r"ensurepip", "this Python lacks a part: install python3-venv, or set PYTHON=…"),
    (
        r"No matching distribution|No solution found|Could not find a version",
        "the package index has nothing that fits",
    ),
)


class Failed(Exception):
    """A program that did not do what it was asked: why, in words, and its own last lines."""

    def __init__(self, tried: str, said: Sequence[str]) -> None:
        text = "\n".join(said)
        found = [reason for pattern, reason in _REASONS if re.search(pattern, text)]
        super().__init__(found[0] if found else f"{tried} did not work")
        self.tried = tried
        self.last_lines = list(said[-SHOWN:])


class Progress:
    """Tells one step: its title, how far it is, and how long it took."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._live = sys.stdout.isatty()
        self._ended = threading.Event()
        self._ticking = threading.Thread(target=self._tick, daemon=True)
        # How far the step is, in a few words.
        self.state: Callable[[], str] = str

    def __enter__(self) -> Progress:
        if self._live:
            self._draw()
        else:
            print(f"{self._title} …", flush=True)
        self._ticking.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._ended.set()
        self._ticking.join()
        before = "\r\x1b[K" if self._live else ""
        ending = "done in" if kind is None else "stopped after"
        print(f"{before}{self._title}: {ending} {self._took()}", flush=True)

    def _tick(self) -> None:
        while not self._ended.wait(REDRAW if self._live else PATIENCE):
            self._draw()

    def _draw(self) -> None:
        state = ", ".join(filter(None, (self.state(), self._took())))
        if self._live:
            line = fitted(self._title, state, shutil.get_terminal_size().columns - 1)
            print(f"\r{line}\x1b[K", end="", flush=True)
        else:
            print(f"{self._title}: {state}", flush=True)

    def _took(self) -> str:
        return f"{time.monotonic() - self._began:.0f} s"


def fitted(title: str, state: str, columns: int) -> str:
    """Return a step on one line; where that is narrow, the title is cut, for the state changes."""
    room = columns - len(state) - 2
    if len(title) > room:
        title = f"{title[: max(room - 1, 0)]}…"
    return f"{title}: {state}"[:columns]


def _nobody(line: str) -> None:
    """Take in a line that nobody needs to see."""


def follow(
    *command: str | Path,
    heard: Callable[[str], None] = _nobody,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> list[str]:
    """Run a program, pass on each line that it prints, and return the last of them.

    Raises:
        Failed: it could not be run, or says that it failed.
    """
    words = [str(word) for word in command]
    said: deque[str] = deque(maxlen=KEPT)
    tried = " ".join(Path(word).name for word in words[:4])
    try:
        running = subprocess.Popen(
            words, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise Failed(tried, [str(error)]) from error
    with running, log.open("a") if log else contextlib.nullcontext() as kept:
        assert running.stdout is not None
        for line in running.stdout:
            if kept is not None:
                kept.write(line)
            if line.strip():
                said.append(line.rstrip())
                heard(said[-1])
    if running.returncode:
        raise Failed(tried, [*said])
    return [*said]
