"""Shutdown of ``agenthost serve``: signals, time limit, exit code.

The first signal asks for a clean stop, further ones for one without waiting. Threads and jobs of
agents that outlast a clean stop are abandoned, and so is everything when the time is up. Knows no
hosts.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

# What ends a host cleanly: Ctrl-C, a service manager, a terminal that is closed.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds after the first signal at which the process is gone, whatever it was doing. A clean stop
# takes half of that when everybody takes all the time that they are given.
STOP_LIMIT = 10.0


class Shutdown:
    """Handles the stop signals of this process, and ends it in time."""

    def __init__(self) -> None:
        # Seconds after the first signal at which the process is gone.
        self.limit = STOP_LIMIT
        # Set by the first signal.
        self.requested = asyncio.Event()
        # Called for a hangup, which does not stop the host then. To be set before it listens.
        self.on_hangup: Callable[[], None] | None = None
        # Called for every further one.
        self.on_hurry: Callable[[], None] = lambda: None
        # Whether there is nothing left to lose, and with which code to end then.
        self.all_done = False
        self._code = 0
        # What ran before there was a host.
        self._threads = set(threading.enumerate())
        self._timing = False
        # Whether it only has until it leaves, because no signal asked it to end.
        self._until_left = self._left = False
        self._wake: tuple[socket.socket, socket.socket] | None = None

    def listen(self) -> None:
        """Start to handle the signals, in the running loop."""
        # Not by the loop's own handlers: closing it brings back those that kill, and a signal that
        # comes then makes a clean stop look like a crash.
        self._wake = reading, writing = socket.socketpair()
        for end in self._wake:
            end.setblocking(False)
        signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        asyncio.get_running_loop().add_reader(reading, self._read)
        for number in STOP_SIGNALS:
            # Under nohup a host outlives its terminal. A script that starts one with `&` has it
            # ignore Ctrl-C as well, but means to stop it all the same when it sends that signal.
            if number == signal.SIGHUP and self.on_hangup is not None:
                # Seen by the loop, through the socket.
                signal.signal(number, lambda *_: None)
            elif number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._start_time_limit)

    def finish(self) -> None:
        """Ignore signals from now on: everything is stored, and a clean stop must stay one.

        What is left may be a job that hangs, and no signal ends the process any more.
        """
        self.all_done = True
        if not self._timing:
            self._until_left = True
            self._start_time_limit(0, None)
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        if self._wake is not None:
            reading, writing = self._wake
            asyncio.get_running_loop().remove_reader(reading)
            reading.close()
            writing.close()

    def fail(self) -> None:
        """Have the process end with 1, also if its time is up before it leaves."""
        self._code = 1

    def leave(self, code: int) -> int:
        """Return the exit code; exit at once if threads are left that Python would wait for."""
        self._code = code
        self._left = True
        left = set(threading.enumerate()) - self._threads
        if self.all_done and any(not thread.daemon for thread in left):
            self._exit(code)
        return code

    def _read(self) -> None:
        assert self._wake is not None
        with contextlib.suppress(BlockingIOError):
            for number in self._wake[0].recv(4096):
                if number == signal.SIGHUP and self.on_hangup is not None:
                    self.on_hangup()
                    continue
                if number not in STOP_SIGNALS:
                    continue
                if self.requested.is_set():
                    self.on_hurry()
                self.requested.set()

    def _start_time_limit(self, number: int, frame: FrameType | None) -> None:
        """Start the time limit at the first signal, even if the loop is blocked."""
        if not self._timing:
            self._timing = True
            # No Thread: starting one takes locks, which whoever was interrupted may hold.
            _thread.start_new_thread(self._exit_at_time_limit, ())

    def _exit_at_time_limit(self) -> None:
        time.sleep(self.limit)
        if self._until_left and self._left:
            return
        if not self.all_done:
            os.write(2, b"agenthost: the host did not stop in time and was ended\n")
        self._exit(self._code if self.all_done else 1)

    def _exit(self, code: int) -> None:
        # Whoever does not read our output must not keep us either.
        flushing = threading.Thread(target=_flush, daemon=True)
        flushing.start()
        flushing.join(timeout=0.5)
        os._exit(code)


def _flush() -> None:
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
