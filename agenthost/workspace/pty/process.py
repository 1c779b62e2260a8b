"""A program on a pty of its own, behind a keeper that ends all of it.

Its output is taken in pieces of a bounded size with a pause after each, so that a flood of it
neither blocks the event loop nor comes as a thousand small pieces. Linux only.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from agenthost.workspace.pty.sizes import clamped

KEEPER = Path(__file__).with_name("keeper.py")

# Bytes taken at once, and seconds until more is taken.
READ_AT_ONCE = 64 * 1024
PAUSE = 0.008
# Seconds for which a program is held up because those who look at it do not keep up.
LONGEST_PAUSE = 0.1
# Bytes of input that a program has not read.
MOST_INPUT = 1024 * 1024
# Bytes that may be read after the end.
MOST_LEFT = 1024 * 1024
# Seconds in which a keeper must have started its program.
START_PATIENCE = 10.0
# Seconds that a keeper gets to end what it keeps; programs may stop it, or kill it.
END_PATIENCE = 8.0
# Seconds after which a terminal that nobody has open is looked at again: it can be opened again.
REOPEN = 0.25
# Tells the terminal that an erased character may be several bytes; `termios` does not name it.
_IUTF8 = 0o40000


class InputRefused(Exception):
    """What was typed cannot reach the program; the message says why."""


class _Spawned(Struct):
    """A keeper that was started, and our ends of what connects us."""

    keeper: subprocess.Popen[bytes]
    master: int
    leash: int
    report: int


def supported() -> bool:
    """Whether this machine has what terminals need."""
    return sys.platform == "linux" and os.path.isdir("/proc/self/fd")


class Pty:
    """One program on its terminal, until it ends."""

    def __init__(
        self,
        spawned: _Spawned,
        on_output: Callable[[bytes], None],
        behind: Callable[[], bool],
        busy: Callable[[], bool],
    ) -> None:
        """Use `start`."""
        self._loop = asyncio.get_running_loop()
        self._spawned = spawned
        self._on_output = on_output
        self._behind = behind
        self._busy = busy
        self._started: asyncio.Future[int] = self._loop.create_future()
        self._ended: asyncio.Future[int | None] = self._loop.create_future()
        self._exit_code: int | None = None
        self._told = bytearray()
        self._input = bytearray()
        self._leashed = True
        # Whether output is given out; whether the keeper has left; whether all is closed.
        self._begun = self._left = self._over = False
        self._next_look: asyncio.TimerHandle | None = None
        self._insisting: asyncio.TimerHandle | None = None
        self.pid = 0
        for descriptor in (spawned.master, spawned.report):
            os.set_blocking(descriptor, False)
        self._loop.add_reader(spawned.report, self._hear)

    @classmethod
    async def start(
        cls,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | int,
        cols: int = 80,
        rows: int = 24,
        on_output: Callable[[bytes], None],
        behind: Callable[[], bool] = lambda: False,
        busy: Callable[[], bool] = lambda: False,
    ) -> Pty:
        """Start a program in a folder, given by its path or by a descriptor of it.

        ``on_output`` gets what it prints; while ``behind`` says so, less is taken for a while, and
        while ``busy`` does, nothing at all.

        Raises:
            OSError: the program or the folder does not exist, or there is no terminal to be had.
        """
        if not supported():
            raise OSError("terminals need Linux")
        spawning = _Spawning()
        work = partial(spawning.run, tuple(words), dict(env), cwd, cols, rows)
        # No task: a loop that is about to close would cancel it, and it goes on all the same.
        running = asyncio.get_running_loop().run_in_executor(None, work)
        running.add_done_callback(lambda _: running.cancelled() or running.exception())
        try:
            spawned = await asyncio.shield(running)
        except asyncio.CancelledError:
            spawning.abandon()
            # The folder is in use until then.
            await asyncio.wait({running})
            raise
        pty = cls(spawned, on_output, behind, busy)
        try:
            async with asyncio.timeout(START_PATIENCE):
                await asyncio.shield(pty._started)
        except BaseException:
            pty._on_output = lambda data: None
            pty._begin()
            await pty.close()
            raise
        pty._begin()
        return pty

    @property
    def running(self) -> bool:
        """Whether the program, or anything that it started, may still be there."""
        return not self._over

    @property
    def is_busy(self) -> bool:
        """Whether something else than the program itself has the terminal."""
        if not self.running:
            return False
        try:
            return os.tcgetpgrp(self._spawned.master) != self.pid
        except OSError:
            return False

    def takes(self, size: int) -> bool:
        """Say whether so many bytes can be typed now."""
        return self.running and len(self._input) + size <= MOST_INPUT

    async def ended(self) -> int | None:
        """Wait for the end of all of it; return the exit code, 128 plus a signal's number.

        All output has been given out by then. None = not known, for the keeper was killed.
        """
        return await asyncio.shield(self._ended)

    def write(self, data: bytes) -> None:
        """Type.

        Raises:
            InputRefused: the program has ended, or does not read its input.
        """
        if not self.running:
            raise InputRefused("the program has ended")
        if not self.takes(len(data)):
            raise InputRefused("the program does not read its input")
        if not self._input:
            self._loop.add_writer(self._spawned.master, self._write)
        self._input += data

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal another size; the program is told."""
        if self.running:
            _set_size(self._spawned.master, cols, rows)

    def end(self) -> None:
        """Begin to end all of it: it is asked, and after a moment made to."""
        if self._leashed:
            self._leashed = False
            os.close(self._spawned.leash)
            _await_beside(self._spawned.keeper)
            if not self._over:
                # Should a program have stopped it.
                self._spawned.keeper.send_signal(signal.SIGCONT)
                self._insisting = self._loop.call_later(END_PATIENCE, self.insist)

    def insist(self) -> None:
        """Kill all of it, the keeper too, should that not come to do so."""
        self.end()
        # Once it has been waited for, its number may be somebody else's.
        if not self._over and self._spawned.keeper.returncode is None:
            _kill_all_below(self._spawned.keeper.pid)
            self._spawned.keeper.kill()

    async def close(self) -> None:
        """End all of it and wait until it has."""
        self.end()
        await self.ended()

    def _hear(self) -> None:
        """Take what the keeper tells."""
        try:
            told = os.read(self._spawned.report, 4096)
        except BlockingIOError:
            return
        self._told += told
        *lines, rest = bytes(self._told).split(b"\n")
        self._told[:] = rest
        for line in lines:
            self._heard(*line.split())
        if not told:
            self._loop.remove_reader(self._spawned.report)
            self._left = True
            if not self._started.done():
                reason = "the terminal's keeper could not be started"
                self._started.set_exception(OSError(reason))
            # A failure that nobody waits for any more is no news.
            self._started.exception()
            if self._begun:
                self._finish()

    def _heard(self, what: bytes, value: bytes) -> None:
        number = int(value)
        if what == b"exit":
            self._exit_code = number if number >= 0 else 128 - number
        elif not self._started.done():
            if what == b"pid":
                self.pid = number
                self._started.set_result(number)
            else:
                self._started.set_exception(OSError(number, os.strerror(number)))

    def _begin(self) -> None:
        """Give out what is printed from now on: whoever started this knows it by now."""
        self._begun = True
        if self._left:
            self._loop.call_soon(self._finish)
        else:
            self._look()

    def _finish(self) -> None:
        """All is over: nothing can be printed any more, but not all may have been read."""
        self._over = True
        if self.pid and self._exit_code is None:
            _kill_session(self.pid)
        for timer in (self._next_look, self._insisting):
            if timer is not None:
                timer.cancel()
        self._loop.remove_reader(self._spawned.master)
        self._loop.remove_writer(self._spawned.master)
        self._input.clear()
        try:
            # The kernel keeps less than this; only what escaped from a killed keeper prints on.
            for _ in range(MOST_LEFT // 4096):
                self._on_output(os.read(self._spawned.master, READ_AT_ONCE))
        except OSError:
            pass
        finally:
            self.end()
            os.close(self._spawned.master)
            os.close(self._spawned.report)
            self._reap()

    def _reap(self) -> None:
        # It has closed its end of the pipe by ending, or is about to.
        if self._spawned.keeper.poll() is None:
            self._loop.call_later(PAUSE, self._reap)
        elif not self._ended.done():
            self._ended.set_result(self._exit_code)

    def _look(self) -> None:
        self._next_look = None
        self._loop.add_reader(self._spawned.master, self._read)

    def _look_later(self, seconds: float) -> None:
        until = self._loop.time() + LONGEST_PAUSE
        self._next_look = self._loop.call_later(seconds, self._look_unless_behind, until)

    def _look_unless_behind(self, until: float) -> None:
        """Give those who look at it time to keep up, but not for ever."""
        if self._busy() or (self._behind() and self._loop.time() < until):
            again = self._look_unless_behind
            self._next_look = self._loop.call_later(PAUSE, again, until)
        else:
            self._look()

    def _read(self) -> None:
        """Take a bounded part of what was printed, and look again after a pause."""
        self._loop.remove_reader(self._spawned.master)
        pieces: list[bytes] = []
        size = 0
        pause = PAUSE
        try:
            while size < READ_AT_ONCE:
                # The kernel gives some four KiB at once.
                piece = os.read(self._spawned.master, READ_AT_ONCE - size)
                pieces.append(piece)
                size += len(piece)
        except BlockingIOError:
            pass
        except OSError:
            # Nobody has the terminal open; the program may open it again.
            pause = REOPEN
        # First, so that the terminal goes on even if somebody cannot take this.
        self._look_later(pause)
        if size:
            self._on_output(b"".join(pieces))

    def _write(self) -> None:
        try:
            written = os.write(self._spawned.master, self._input[: 64 * 1024])
        except BlockingIOError:
            return
        except OSError:
            # Nobody has the terminal open.
            written = len(self._input)
        del self._input[:written]
        if not self._input:
            self._loop.remove_writer(self._spawned.master)


def _spawn(
    words: Sequence[str], env: Mapping[str, str], cwd: str | int, cols: int, rows: int
) -> _Spawned:
    """Start a keeper; blocks for as long as that takes."""
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        folder = cwd
        if isinstance(folder, str):
            folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            theirs.callback(os.close, folder)
        master, slave = os.openpty()
        ours.callback(os.close, master)
        theirs.callback(os.close, slave)
        _set_size(master, cols, rows)
        _erase_whole_characters(slave)
        held, leash = os.pipe()
        theirs.callback(os.close, held)
        ours.callback(os.close, leash)
        report, telling = os.pipe()
        ours.callback(os.close, report)
        theirs.callback(os.close, telling)
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), str(slave), str(folder), *words],
            stdin=held,
            stdout=telling,
            stderr=subprocess.DEVNULL,
            pass_fds=(slave, folder),
            env=env,
            cwd="/",
            # Not to be interrupted together with the host, which ends terminals itself.
            start_new_session=True,
        )
        ours.pop_all()
    return _Spawned(keeper, master, leash, report)


class _Spawning:
    """A keeper that a thread starts for somebody who may not wait for it any more.

    Whoever comes last ends it then: the thread itself, should there be no event loop by that time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spawned: _Spawned | None = None
        self._is_abandoned = False

    def run(self, *arguments: Any) -> _Spawned:
        """Start the keeper, in a thread."""
        spawned = _spawn(*arguments)
        with self._lock:
            self._spawned = spawned
            if self._is_abandoned:
                _let_go(spawned)
        return spawned

    def abandon(self) -> None:
        """End the keeper, or have it ended as soon as it is there."""
        with self._lock:
            self._is_abandoned = True
            if self._spawned is not None:
                _let_go(self._spawned)


def _let_go(spawned: _Spawned) -> None:
    for descriptor in (spawned.leash, spawned.report, spawned.master):
        os.close(descriptor)
    _await_beside(spawned.keeper)


def _await_beside(keeper: subprocess.Popen[bytes]) -> None:
    """Wait for a keeper's end, not by the event loop, which may be about to close."""
    threading.Thread(target=keeper.wait, name="end of a terminal", daemon=True).start()


def _set_size(terminal: int, cols: int, rows: int) -> None:
    size = struct.pack("HHHH", clamped(rows), clamped(cols), 0, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)


def _erase_whole_characters(terminal: int) -> None:
    settings = termios.tcgetattr(terminal)
    settings[0] |= _IUTF8
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


def _kill_session(session: int) -> None:
    """Kill what is left of a shell whose keeper was killed: all that is in its session."""
    for process, (_, theirs) in _processes().items():
        if theirs == session:
            _send(process, signal.SIGKILL)


def _kill_all_below(keeper: int) -> None:
    """Kill all descendants of a keeper, which is theirs as long as it is there."""
    # Again and again: each may have forked before it was stopped.
    for number in (signal.SIGSTOP, signal.SIGSTOP, signal.SIGSTOP, signal.SIGKILL):
        processes = _processes()
        below = {keeper}
        while more := {p for p, (parent, _) in processes.items() if parent in below} - below:
            below |= more
        for process in below - {keeper}:
            _send(process, number)


def _processes() -> dict[int, tuple[int, int]]:
    """Return the parent and the session of each process."""
    found: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            stat = Path(f"/proc/{name}/stat").read_bytes()
            _, parent, _, session = stat.rpartition(b")")[2].split()[:4]
            found[int(name)] = int(parent), int(session)
    return found


def _send(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.kill(process, number)
