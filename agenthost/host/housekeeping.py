"""What a host does now and then by itself: sweep, collect drafts, empty the trash."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.host.core import HostCore

# Seconds between looks at what may leave memory.
SWEEP_INTERVAL = 15.0
# Seconds between two looks for drafts that nobody follows any more.
DRAFT_INTERVAL = 5.0
# Seconds between two looks for disposed sessions whose time is over.
TRASH_INTERVAL = 3600.0


async def sweep(core: HostCore) -> None:
    """Send channels that nobody uses back to the store."""
    while True:
        await asyncio.sleep(SWEEP_INTERVAL)
        core.directory.sweep()


async def collect_drafts(core: HostCore) -> None:
    """Remove sessions that hold nothing and that nobody has followed as long as is set."""
    changed = asyncio.Event()
    core.config.on_change("draftSeconds", lambda _: changed.set())
    while True:
        seconds = core.config.seconds("draftSeconds")
        if seconds is not None:
            await core.sessions.collect_drafts(seconds)
        pause = None if seconds is None else min(DRAFT_INTERVAL, max(seconds / 4, 0.01))
        # Not by `wait_for`: on Python 3.11 it loses a cancel that comes together with a change, and
        # the host would wait for this for ever.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await changed.wait()
        changed.clear()


async def empty_trash(core: HostCore) -> None:
    """Delete disposed sessions whose time is over for good."""
    while True:
        for session in await core.trash.expired():
            await core.sessions.purge(session)
        await asyncio.sleep(TRASH_INTERVAL)
