"""Makes something of files that were read, beside the event loop.

Parsing is work for the interpreter, which one thread has at a time: each thread that parses takes
from everything else the host does. So there is one for folders and one for what clients publish,
and whoever has much to parse takes turns with the others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from agenthost.customizations.reading import ReadFile, TreeReader

# Seconds after which it is somebody else's turn.
TURN = 0.05
_LANES = {
    lane: ThreadPoolExecutor(1, f"parse {lane} customizations") for lane in ("folders", "clients")
}

T = TypeVar("T")


async def parsed(
    reader: TreeReader, files: Sequence[ReadFile], parse: Callable[[ReadFile], T]
) -> list[T]:
    """Make something of each file, as long as the pass has time left."""
    rest, made = iter(files), list[T]()
    loop, lane = asyncio.get_running_loop(), _LANES[reader.budget.limits.lane]

    def take_turn() -> bool:
        until = time.monotonic() + TURN
        for file in rest:
            if reader.budget.is_late():
                return False
            made.append(parse(file))
            if time.monotonic() > until:
                return True
        return False

    has_more = bool(files)
    while has_more:
        has_more = await loop.run_in_executor(lane, take_turn)
    return made
