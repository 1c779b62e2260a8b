"""The folder of a terminal whose client left before it was open."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from agenthost.host.channels.terminal import commands
from tests.flags import eventually


async def test_a_folder_that_nobody_waits_for_any_more_is_closed(tmp_path: Path) -> None:
    may_open, opened = threading.Event(), list[int]()

    def open_late() -> int:
        may_open.wait()
        opened.append(os.open(tmp_path, os.O_RDONLY))
        return opened[0]

    task = asyncio.create_task(commands._opening(open_late))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_open.set()
    await eventually(lambda: bool(opened) and not Path(f"/proc/self/fd/{opened[0]}").exists())
