"""Finding and ending every process that a server started, also those that left its group.

Each server gets a random mark in its environment, which whatever it starts inherits. Where there
is no ``/proc``, process groups have to do.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

MARK = "AGENTHOST_MCP"
"""The variable whose value begins with the id of the worker."""

# Seconds until one gives up on processes that do not end when killed, and between two looks.
_PATIENCE = 5.0
_POLL = 0.01

_PROC = Path("/proc")


def marked(mark: str) -> list[int]:
    """Return the living processes whose mark is this one, or begins with it and a dot."""
    wanted = f"{MARK}={mark}".encode()
    return [pid for pid in _living() if _has_mark(pid, wanted)]


def _has_mark(pid: int, wanted: bytes) -> bool:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    if wanted not in environment:
        return False
    return any(
        line == wanted or line.startswith(wanted + b".") for line in environment.split(b"\0")
    )


def below(root: int, *, itself: bool = True) -> list[int]:
    """Return a process and its living descendants, by who is whose parent right now."""
    children: dict[int, list[int]] = {}
    for pid, (_, parent, *_) in _table().items():
        children.setdefault(parent, []).append(pid)
    found = [root] if itself else []
    todo = [root]
    while todo:
        more = children.get(todo.pop(), [])
        found += more
        todo += more
    return found


def of_group(leader: int) -> list[int]:
    """Return the living processes of the group and of the session that a process leads."""
    return [pid for pid, (_, _, group, session) in _table().items() if leader in (group, session)]


def _living() -> Iterable[int]:
    return _table().keys()


def _table() -> dict[int, tuple[str, int, int, int]]:
    """Return state, parent, group and session of every process that has not ended."""
    table: dict[int, tuple[str, int, int, int]] = {}
    try:
        names = os.listdir(_PROC)
    except OSError:
        return table
    for name in names:
        if not name.isdigit():
            continue
        try:
            rest = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()
            state, parent, group, session = rest[0].decode(), *map(int, rest[1:4])
        except (OSError, ValueError):
            continue
        if state not in ("Z", "X"):
            table[int(name)] = (state, parent, group, session)
    return table


def kill_all(find: Callable[[], Iterable[int]], *, reap: Callable[[], None] | None = None) -> bool:
    """Kill what ``find`` returns until it returns nothing; False if that takes too long.

    Stopped first: of those that fork as fast as they are killed, one would always be left.
    """
    until = time.monotonic() + _PATIENCE
    while found := list(find()):
        if time.monotonic() > until:
            return False
        _send(found, signal.SIGSTOP)
        _send(find(), signal.SIGKILL)
        if reap is not None:
            reap()
        time.sleep(_POLL)
    return True


def _send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
