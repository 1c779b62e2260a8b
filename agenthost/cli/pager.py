"""Pages through long text, in ``$PAGER`` or else in ``less``.

Lines are made and written as the reader asks for more of them, so that the first screen is there
at once however many follow. Styles become colours here. What is shown was written by agents, so
nothing in it is obeyed, and ``less`` is told to start no programs.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

from agenthost.cli.format.terminal_text import visible

if TYPE_CHECKING:
    from agenthost.cli.interactive.display.styled_text import StyledLine

PAGER_VARIABLE = "PAGER"

# Seconds that a pager has to end when it is told to.
_GRACE = 2.0

# Escape sequences for the words of a style; the same looks as on the screen, in any theme.
_CODES: Mapping[str, str] = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "strike": "9",
    "heading": "1;4",
    "link": "4",
    "code": "36",
    "good": "32",
    "bad": "31",
    "ask": "1;33",
    "busy": "33",
    "key": "1;33",
    "user": "1;32",
    "other": "1;35",
    "quote": "3",
    "keyword": "35",
    "string": "32",
    "comment": "2;3",
    "number": "36",
    "name": "34",
    "type": "33",
    "tag": "34",
    # Within a changed line, the words that differ.
    "marked": "7",
}


class Suspends(Protocol):
    """A screen that can leave the terminal to another program for a while."""

    def suspended(self) -> AbstractAsyncContextManager[None]:
        """Return the time during which nothing is drawn, with the terminal as others expect it."""


async def page_if_long(
    lines: Iterable[StyledLine], *, title: str, screen: Suspends | None, rows: int
) -> list[StyledLine]:
    """Show lines until the reader leaves if there are more than ``rows``; return those to print.

    None are left to print once they were paged; all are where there is no pager.
    """
    rest = iter(lines)
    first = list(islice(rest, rows + 1))
    if len(first) <= rows:
        return first
    # A pager that cannot be run has taken none of them.
    paged = await page(chain(first, rest), title=title, screen=screen)
    return [] if paged else [*first, *rest]


async def page(
    lines: Iterable[StyledLine] | str,
    *,
    title: str,
    screen: Suspends | None,
    line: int = 0,
    at_end: bool = False,
) -> bool:
    """Show lines until the reader leaves; return whether that could be done.

    It cannot be done without a terminal or a pager; whoever asked prints the lines then.

    Args:
        lines: styled lines, made as they are needed, or raw text, in which nothing will hide.
        title: names what is shown.
        screen: steps aside meanwhile.
        line: the line to begin with, from 0.
        at_end: whether to begin with the end instead.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    rows = text_rows(lines) if isinstance(lines, str) else map(ansi_row, lines)
    command = pager_command(os.environ, title=title, line=line, at_end=at_end)
    if command is None:
        return False
    async with screen.suspended() if screen is not None else _interrupts_ignored():
        process = _start(command)
        if process is None:
            return False
        feeding = asyncio.create_task(asyncio.to_thread(_feed, process, rows))
        try:
            await asyncio.shield(feeding)
        except asyncio.CancelledError:
            # Whoever ends us must not wait for the reader, and gets the terminal back as it was.
            process.terminate()
            if feeding not in (await asyncio.wait({feeding}, timeout=_GRACE))[0]:
                # Not every program lets itself be told.
                process.kill()
            await feeding
            raise
        return True


@asynccontextmanager
async def _interrupts_ignored() -> AsyncIterator[None]:
    """Leave Ctrl-C to the pager, which stops searching then; a screen has rules of its own."""
    # Not `SIG_IGN`, which the pager would inherit.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def pager_command(
    environment: Mapping[str, str], *, title: str = "", line: int = 0, at_end: bool = False
) -> list[str] | None:
    """Return the command of the reader's pager; None where there is none."""
    options = _less_options(title, line, at_end=at_end)
    with suppress(ValueError):
        wished = shlex.split(environment.get(PAGER_VARIABLE, ""))
        if wished and shutil.which(wished[0]):
            return [*wished, *options] if _is_less(wished[0]) else wished
    less = shutil.which("less")
    return None if less is None else [less, *options]


def _is_less(program: str) -> bool:
    return os.path.basename(program) == "less"


def _less_options(title: str, line: int, *, at_end: bool) -> list[str]:
    # Its prompt has signs of its own, which a title must not be taken for, and is in ASCII.
    plain = visible(title).encode("ascii", "replace").decode()
    shown = "".join(f"\\{mark}" if mark in "?:.%\\" else mark for mark in plain)
    where = ["+G"] if at_end else [f"+{line + 1}g"] if line > 0 else []
    return ["-R", f"-Ps{shown}, line %lt (q leaves)", *where]


def run_pager(command: list[str], rows: Iterable[str]) -> bool:
    """Run a pager over rows and wait until it is left; return whether it ran."""
    process = _start(command)
    if process is not None:
        _feed(process, rows)
    return process is not None


def _start(command: list[str]) -> subprocess.Popen[bytes] | None:
    # `less` is the reader's own with its settings, but it starts nothing, and not even an editor.
    environment = {**os.environ, "LESSSECURE": "1"}
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return None


def _feed(process: subprocess.Popen[bytes], rows: Iterable[str]) -> None:
    assert process.stdin is not None
    try:
        # Who leaves before the end wants no more rows.
        with suppress(BrokenPipeError):
            for row in rows:
                process.stdin.write(f"{row}\n".encode(errors="replace"))
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()


def text_rows(text: str) -> Iterator[str]:
    """Yield the rows of a raw text; what a terminal would obey is spelled out."""
    return (visible(row) for row in text.split("\n"))


def ansi_row(styled: StyledLine) -> str:
    """Return a styled line in a terminal's own words."""
    return "".join(_ansi(style, text) for style, text in styled)


def _ansi(style: str, text: str) -> str:
    codes = ";".join(code for word in style.split() if (code := _CODES.get(word)))
    # Whatever makes lines has cleaned them; what got through nevertheless ends here.
    text = visible(text)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text
