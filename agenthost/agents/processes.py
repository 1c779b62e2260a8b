"""Running commands for agents: child processes with bounded output and no secrets.

The one seam through which agents run commands; a terminal channel can take its place. The child
leads a process group of its own, so that whatever it started ends with it, and is gone even when
the host is killed. What leaves that group on purpose, a daemon, is not followed.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import os
import re
import signal
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agenthost.agents.child_guard import ChildGuard

OnOutput = Callable[[str], Awaitable[None]]

# Characters; of a longer output the end is kept, which says how it went.
MOST_OUTPUT = 256 * 1024
READ_SIZE = 16 * 1024
# Seconds in which many small pieces of output are gathered into one, and those of a command that
# prints on and on: whoever stores what it shows must not be filled up by it.
REPORT_INTERVAL = 0.05
SLOW_REPORT_INTERVAL = 1.0
# Seconds of silence after which the children that a command left behind are ended.
LEFTOVER_GRACE = 0.2
# Seconds between asking a process group to end and making it.
TERMINATION_GRACE = 0.5

# A command that a model thought of needs no key to do its work, and could send one anywhere. What
# it does need is named here, or given to it in code.
PASS = "AGENTHOST_PASS_ENV"
"""Names the secret variables that commands get all the same: ``GITHUB_TOKEN,AWS_*``."""

_OURS = "AGENTHOST_"
_SECRET = re.compile(
    r"api_?key|(?:token|tkn|secret|password|passwd|passphrase|(?:access|secret|private)_?key)\Z",
    re.IGNORECASE,
)


UNKNOWN = -1
"""The exit code of a command of which nobody knows how it ended."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended; a signalled one has 128 plus the signal's number as its code."""

    exit_code: int
    # What it printed, or the end of that.
    output: str
    # Whether the beginning is missing.
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

    Standard output and error arrive together, as text, at ``on_output`` while it runs; of what
    comes faster than it can be shown, the newest part. Without ``env`` it sees the host's
    environment without its secrets. Children that the command leaves behind end
    with it. When this is cancelled or the time is up (TimeoutError), the whole process group is
    ended first.

    Raises:
        OSError: the program or the directory does not exist.
    """
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    output = _Output(on_output)
    guard = await ChildGuard.start()
    try:
        async with _pipe() as (stream, writing):
            process = await _start(words, cwd, env, writing)
            guard.watch(process.pid)
            try:
                async with asyncio.timeout(timeout):
                    code = await _follow(process, output, stream)
            finally:
                await _end_group(process)
    finally:
        await guard.release()
    return CommandResult(128 - code if code < 0 else code, output.text, output.truncated)


class _Tail:
    """The end of a text that grows."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        # Characters that are held, and whether any had to go.
        self._size = 0
        self._dropped = False

    def __bool__(self) -> bool:
        return self._size > 0

    @property
    def text(self) -> str:
        """The text that is kept."""
        return "".join(self._pieces)[-MOST_OUTPUT:]

    @property
    def is_cut(self) -> bool:
        """Whether the beginning was dropped."""
        return self._dropped or self._size > MOST_OUTPUT

    def add(self, text: str) -> None:
        """Append to it."""
        self._pieces.append(text)
        self._size += len(text)
        while self._size - len(self._pieces[0]) >= MOST_OUTPUT:
            self._size -= len(self._pieces.popleft())
            self._dropped = True


class _Output:
    """A command's output: decoded, bounded, and handed on in pieces."""

    def __init__(self, on_output: OnOutput | None) -> None:
        self._on_output = on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._kept = _Tail()
        # How many bytes have come.
        self.received = 0
        # Whether everything that has come is dealt with, and more is waited for.
        self.waiting = False
        # What is not handed on yet, and when that is due.
        self._unreported = _Tail()
        self._due = 0.0

    @property
    def text(self) -> str:
        """The text that is kept."""
        return self._kept.text

    @property
    def truncated(self) -> bool:
        """Whether its beginning is missing."""
        return self._kept.is_cut

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Take all there is until the stream ends."""
        while data := await self._next(stream):
            self.received += len(data)
            await self._take(self._decoder.decode(data))
        await self._take(self._decoder.decode(b"", final=True))
        await self._report()

    async def _next(self, stream: asyncio.StreamReader) -> bytes:
        while True:
            self.waiting = True
            try:
                async with asyncio.timeout_at(self._due if self._unreported else None):
                    return await stream.read(READ_SIZE)
            except TimeoutError:
                await self._report()
            finally:
                self.waiting = False

    async def _take(self, text: str) -> None:
        if text:
            self._kept.add(text)
            self._unreported.add(text)
            if asyncio.get_running_loop().time() >= self._due:
                await self._report()

    async def _report(self) -> None:
        unreported, self._unreported = self._unreported, _Tail()
        interval = SLOW_REPORT_INTERVAL if self.truncated else REPORT_INTERVAL
        self._due = asyncio.get_running_loop().time() + interval
        if unreported and self._on_output is not None:
            await self._on_output(unreported.text)


@contextlib.asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """Open a pipe of our own: with the event loop's, waiting for a process waits for its heirs."""
    reading, writing = os.pipe()
    stream = asyncio.StreamReader()
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reading, "rb", buffering=0)
        )
    except BaseException:
        os.close(writing)
        raise
    try:
        yield stream, writing
    finally:
        transport.close()


async def _start(
    words: Sequence[str],
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    output: int,
) -> Process:
    """Start a program in a process group of its own, and let go of our end of its output."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *words,
            cwd=cwd,
            env=command_environment() if env is None else dict(env),
            stdin=DEVNULL,
            stdout=output,
            stderr=STDOUT,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except ValueError as error:
        raise OSError(errno.EINVAL, "the command contains a character that none may") from error
    except asyncio.CancelledError:
        # Half started it could not be ended with all that it starts.
        with contextlib.suppress(OSError, ValueError):
            await _end_group(await starting)
        raise
    finally:
        os.close(output)


async def _follow(process: Process, output: _Output, stream: asyncio.StreamReader) -> int:
    """Read until the command has ended and nobody in its group prints any more."""
    reading = asyncio.ensure_future(output.read(stream))
    ended = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            await _fall_silent(reading, output)
        if reading.done():
            reading.result()
        return await ended
    finally:
        for task in (reading, ended):
            task.cancel()
        await asyncio.gather(reading, ended, return_exceptions=True)


async def _fall_silent(reading: asyncio.Future[None], output: _Output) -> None:
    """Wait for the rest of the output; those who hold it open and say nothing are left to it."""
    while not reading.done():
        before = output.received
        await asyncio.wait({reading}, timeout=LEFTOVER_GRACE)
        if output.waiting and output.received == before:
            return


async def _end_group(process: Process) -> None:
    """End whoever is left in the command's group: asked first, then made to."""
    if not signal_group(process.pid, signal.SIGTERM):
        return
    try:
        async with asyncio.timeout(TERMINATION_GRACE):
            await process.wait()
            await group_emptied(process.pid)
    except TimeoutError:
        pass
    finally:
        # Also when this is cancelled in turn: nobody may be left.
        signal_group(process.pid, signal.SIGKILL)
    await process.wait()


async def group_emptied(group: int) -> None:
    """Wait until nobody is left in a process group."""
    # No system call tells of it, so there is nothing to wait for but the next look.
    while signal_group(group, 0):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def signal_group(group: int, number: int) -> bool:
    """Signal a process group; False when nobody is left in it that can be signalled."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        # Whoever changed its user cannot be reached; there is nothing more to be done.
        return False
    return True


def command_environment(
    added: Mapping[str, str] | None = None, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables for a command: the host's without secrets, and those that are added."""
    given = os.environ if given is None else given
    passed = [name.strip() for name in given.get(PASS, "").split(",")]
    kept = {
        name: value
        for name, value in given.items()
        if not _SECRET.search(name) or any(fnmatchcase(name, wanted) for wanted in passed)
    }
    return {**kept, **(added or {})}


def program_environment(
    added: Mapping[str, str] | None = None, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables for an agent's own program, which calls its model with its own key.

    Only what is the host's alone is left out: its token, and the key of its models.
    """
    given = os.environ if given is None else given
    kept = {
        name: value
        for name, value in given.items()
        if not (name.startswith(_OURS) and _SECRET.search(name))
    }
    return {**kept, **(added or {})}
