"""The user's own terminal in raw mode, given back as it was on every way out."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import sys
import termios
import threading
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

# Bytes of one read; a paste comes in several.
_MOST_READ = 16_384
_DEFAULT_SIZE = (80, 24)
# Bytes that are written at once: what a terminal's own buffer holds.
_PIECE = 4096
# Seconds in which a piece that is being written must be through when the terminal is given back.
_LAST_WRITE = 1.0

# Window titles are kept on a stack in the terminal, where it has one.
_KEEP_TITLE, _RESTORE_TITLE = "\x1b[22;0t", "\x1b[23;0t"


def has_terminal() -> bool:
    """Return whether standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


class RawTty:
    """The terminal behind standard input and output, raw for the length of a block."""

    def __init__(self, input: int | None = None, output: int | None = None) -> None:
        self._input = sys.stdin.fileno() if input is None else input
        self._output = sys.stdout.fileno() if output is None else output
        # How it was; None while it is not raw.
        self._before: list[Any] | None = None
        # What undoes the changes of whatever was drawn on it.
        self.undo: Callable[[], str] = str
        # One text is whole before the next begins, and none is written behind the last words.
        self._writing = threading.Lock()
        self._is_closing = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._input)
        tty.setraw(self._input, termios.TCSADRAIN)
        self._write_all(_KEEP_TITLE.encode())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before, self._before = self._before, None
        self._is_closing = True
        # A terminal that takes nothing any more must not keep anybody here.
        got = self._writing.acquire(timeout=_LAST_WRITE)
        # Where the terminal is gone there is nothing to give back.
        with contextlib.suppress(OSError, termios.error):
            if got:
                _write(self._output, f"{self.undo()}{_RESTORE_TITLE}".encode())
        with contextlib.suppress(OSError, termios.error):
            # What it answered to the program and nobody read is not for the shell to run.
            termios.tcsetattr(self._input, termios.TCSAFLUSH, before or [])

    def make_raw_again(self) -> None:
        """Make it raw once more, after a shell that stopped this process gave it other modes."""
        if self._before is not None:
            tty.setraw(self._input, termios.TCSADRAIN)

    @property
    def size(self) -> tuple[int, int]:
        """Its columns and rows."""
        try:
            columns, rows = os.get_terminal_size(self._output)
        except OSError:
            return _DEFAULT_SIZE
        return columns or _DEFAULT_SIZE[0], rows or _DEFAULT_SIZE[1]

    @property
    def input(self) -> int:
        """The descriptor that tells when there is something to read."""
        return self._input

    def read(self) -> str | None:
        """Return what was typed; None at the end of input, as after the terminal was closed."""
        try:
            data = os.read(self._input, _MOST_READ)
        except OSError:
            return None
        return self._decoder.decode(data) if data else None

    async def write(self, text: str) -> None:
        """Write text; a terminal that takes its time stops nothing but its own output."""
        await asyncio.to_thread(self._write_all, text.encode(errors="replace"))

    def _write_all(self, data: bytes) -> None:
        with self._writing:
            for start in range(0, len(data), _PIECE):
                if self._is_closing:
                    return
                _write(self._output, data[start : start + _PIECE])


def _write(output: int, data: bytes) -> None:
    while data:
        data = data[os.write(output, data) :]
