"""Being the parent of all that servers leave behind, so that no process of theirs stays."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator

SET_CHILD_SUBREAPER = 36

owned: set[int] = set()
"""The processes whose end the event loop itself waits for; nobody else may take it away."""

# How many processes are being started, whose ids nobody knows yet.
_starting = 0


def adopt_orphans() -> None:
    """Make this process the parent of whatever its descendants leave behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def held_off() -> Iterator[None]:
    """Reap nobody while a process is started that is not among the owned ones yet."""
    global _starting
    _starting += 1
    try:
        yield
    finally:
        _starting -= 1


def reap_orphans() -> None:
    """Take leave of adopted processes that have ended."""
    if sys.platform != "linux":
        # Nobody is adopted.
        return
    while not _starting:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid in owned:
            # One that is owned hides those behind it; its own end is the next occasion.
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(ended.si_pid, os.WNOHANG)


def reap_when_children_end() -> None:
    """Reap orphans from now on, on the running loop."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, reap_orphans)
