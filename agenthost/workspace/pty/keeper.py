"""A program that starts one terminal's shell and lets nothing of it outlive the terminal.

Run by `process.py` as a script, with nothing but the standard library. It is the reaper of all
that its shell starts, also of what left the shell's session on purpose. Everything ends when the
shell does, when the host lets go of the leash (standard input), and so also when the host is
killed. It tells on standard output: ``pid N``, or ``failed ERRNO``; then ``exit N``.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import sys
import termios
import time

SET_PARENT_DEATH_SIGNAL = 1
SET_CHILD_SUBREAPER = 36
# Seconds between asking to end and making an end, and until the keeper gives up.
PATIENCE = 0.5
LAST_PATIENCE = 5.0
POLL = 0.02
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    """Start the shell, wait for an end, and make it everybody's."""
    slave, folder, *words = sys.argv[1:]
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    awake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signalled: list[int] = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in ENDING:
        signal.signal(number, lambda told, _: signalled.append(told))
    shell = start(int(slave), int(folder), words)
    over = False
    while not over:
        ready, _, _ = select.select([0, awake], [], [])
        if awake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(awake, 512)
        over = reap(shell) or 0 in ready or bool(signalled)
    end(shell)


def start(slave: int, folder: int, words: list[str]) -> int:
    """Start the shell on the terminal and return its id; tell the host, or why it failed."""
    failure, failing = os.pipe2(os.O_CLOEXEC)
    shell = os.fork()
    if shell == 0:
        try:
            become(slave, folder, words)
        except OSError as error:
            os.write(failing, b"%d" % (error.errno or 5))
        finally:
            os._exit(127)
    os.close(slave)
    os.close(failing)
    if folder >= 0:
        os.close(folder)
    reason = os.read(failure, 16)
    if reason:
        tell(b"failed " + reason)
        os._exit(1)
    os.close(failure)
    tell(b"pid %d" % shell)
    return shell


def become(slave: int, folder: int, words: list[str]) -> None:
    """Turn this child into the shell, with the terminal as its own."""
    # What Python ignores, and what a `nohup` around the host does, is no business of the shell's.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Should the keeper itself be killed.
    ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGHUP, 0, 0, 0)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    if folder >= 0:
        os.fchdir(folder)
    for standard in (0, 1, 2):
        os.dup2(slave, standard)
    os.set_inheritable(slave, slave <= 2)
    if folder > 2:
        os.set_inheritable(folder, False)
    os.execvp(words[0], words)


def tell(line: bytes) -> None:
    """Say something to the host, if there still is one."""
    with contextlib.suppress(OSError):
        os.write(1, line + b"\n")


def reap(shell: int) -> bool:
    """Take leave of the children that ended, and say whether the shell is among them."""
    ended = False
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if child == 0:
            return ended
        if child == shell:
            ended = True
            tell(b"exit %d" % os.waitstatus_to_exitcode(status))


def below() -> list[int]:
    """Return all living descendants, by who is whose parent right now."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in (b"Z", b"X"):
            children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        more = children.get(todo.pop(), [])
        found += more
        todo += more
    return found


def send(processes: list[int], *numbers: int) -> None:
    """Send signals to processes, those that are gone meanwhile excepted."""
    for process in processes:
        for number in numbers:
            with contextlib.suppress(OSError):
                os.kill(process, number)


def end(shell: int) -> None:
    """End all that is below: ask, wait a little, then stop and kill until none is left."""
    asked: set[int] = set()
    until = time.monotonic() + PATIENCE
    while (living := below()) and time.monotonic() < until:
        # Once each: a shell that is told twice while it tells its own children may miss that.
        new = [process for process in living if process not in asked]
        asked.update(new)
        send(new, signal.SIGHUP, signal.SIGCONT)
        time.sleep(POLL)
        reap(shell)
    until = time.monotonic() + LAST_PATIENCE
    while (living := below()) and time.monotonic() < until:
        # Stopped first: of those that fork as fast as they are killed, one would always be left.
        send(living, signal.SIGSTOP)
        send(below(), signal.SIGKILL)
        time.sleep(POLL)
        reap(shell)
    reap(shell)
    os._exit(0)


if __name__ == "__main__":
    main()
