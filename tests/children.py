"""Processes that a test did not start itself: whether they run, and their end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

__all__ = ["gone", "is_alive"]

# Seconds after which a process will not end any more.
_PATIENCE = 60.0


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and is not buried yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def gone(*pids: int) -> None:
    """Wait until processes have ended."""
    loop = asyncio.get_running_loop()
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = asyncio.Event()
        loop.add_reader(descriptor, ended.set)
        try:
            async with asyncio.timeout(_PATIENCE):
                await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
