"""Telling a slow reader, which takes little, from one that takes nothing any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agenthost.transport import Transport

# Seconds between two looks at a transport that does not drain.
LOOK_SECONDS = 0.25


async def takes_more(transport: Transport, patience: Callable[[], float]) -> bool:
    """Wait until a transport can take more, or has ended; False when it has stalled.

    It has stalled when its backlog did not shrink for as many seconds as ``patience`` says, which
    is asked again at every look.
    """
    loop = asyncio.get_running_loop()
    backlog, since = transport.backlog, loop.time()
    while True:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await transport.drained()
                return True
        except TimeoutError:
            if transport.backlog < backlog:
                backlog, since = transport.backlog, loop.time()
            elif loop.time() - since >= patience():
                return False
