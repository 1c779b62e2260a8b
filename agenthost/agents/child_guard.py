"""Kills child processes when the host is killed and can no longer end them itself.

A host ends its commands on every way out but one: nobody can handle SIGKILL. So a tiny watcher
waits beside each of them at a pipe from the host, and ends the process group when the pipe breaks.
"""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Self

# The first line names the group. A second one says that it needs no watching any more; the end of
# the input instead of it says that the host is gone.
_WATCH = """
read -r group && ! read -r released && {
    kill -s TERM -- "-$group"; sleep 1; kill -s KILL -- "-$group"
}
"""


class ChildGuard:
    """Ends a process group when this process is gone."""

    def __init__(self, watcher: Process) -> None:
        assert watcher.stdin is not None
        self._watcher = watcher
        self._input = watcher.stdin
        self._held = False

    @classmethod
    async def start(cls) -> Self:
        """Start the watcher, before there is anything to watch."""
        return cls(
            await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                _WATCH,
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=DEVNULL,
                cwd="/",
                # It needs nothing of the host's, least of all its secrets.
                env={"PATH": os.environ.get("PATH", os.defpath)},
                # What ends the host's own group must not end the watcher.
                start_new_session=True,
            )
        )

    def watch(self, group: int) -> None:
        """Watch a process group from now on."""
        self._held = True
        self._input.write(b"%d\n" % group)

    async def release(self) -> None:
        """Stop watching: the group has ended, or there never was one."""
        self.let_go()
        await self._watcher.wait()

    def let_go(self) -> None:
        """Stop watching, without the time to wait for the watcher's end."""
        if self._held:
            self._held = False
            self._input.write(b"\n")
        self._input.close()
