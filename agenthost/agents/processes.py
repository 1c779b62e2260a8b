"""Running a command for an agent: a real child process, bounded, and gone when it must be.

The one seam through which agents run commands; a terminal channel can take its place. The child
leads a process group of its own, so that whatever it started ends with it.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["CommandResult", "run_command"]

OnOutput = Callable[[str], Awaitable[None]]

# Of a longer output the beginning is kept; what follows is counted and dropped.
MOST_OUTPUT = 256 * 1024
READ_SIZE = 16 * 1024
# Seconds between asking a process group to end and making it.
TERMINATION_GRACE = 0.5


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended; a signalled one has 128 plus the signal's number as its code."""

    exit_code: int
    output: str
    truncated: bool


async def run_command(
    command: str | Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    on_output: OnOutput | None = None,
    timeout: float | None = None,
) -> CommandResult:
    """Run a shell command line, or a program with arguments, until it ends.

    Standard output and error arrive together, as text, at ``on_output`` while it runs. When this
    is cancelled or the time is up (TimeoutError), the whole process group is ended first.

    Raises:
        OSError: the program or the directory does not exist.
    """
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=cwd,
        env=dict(env) if env is not None else None,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout):
            output, truncated = await _read(process, on_output)
            code = await process.wait()
    finally:
        # Also after a normal end: a command may leave children behind in its group.
        await _end_group(process)
    return CommandResult(128 - code if code < 0 else code, output, truncated)


async def _read(
    process: asyncio.subprocess.Process, on_output: OnOutput | None
) -> tuple[str, bool]:
    assert process.stdout is not None
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    kept: list[str] = []
    size, truncated = 0, False
    while data := await process.stdout.read(READ_SIZE):
        text = decoder.decode(data)
        room = MOST_OUTPUT - size
        truncated = truncated or len(text) > room
        text = text[:room]
        size += len(text)
        if text:
            kept.append(text)
            if on_output is not None:
                await on_output(text)
    return "".join(kept), truncated


async def _end_group(process: asyncio.subprocess.Process) -> None:
    if not _signal_group(process.pid, signal.SIGTERM):
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(TERMINATION_GRACE):
            await process.wait()
            # Nothing tells when a group is empty.
            while _signal_group(process.pid, 0):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(group: int, number: int) -> bool:
    """Signal a process group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # Somebody in it changed its user; there is nothing more to be done.
        return False
    return True
