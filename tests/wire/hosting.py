"""A real host in its own process: started, killed, stopped and started again by tests."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agenthost.agents import Agent
from agenthost.host import Host
from tests.wire.on_cluster import cluster_options

__all__ = ["ServedHost", "embed", "refusal", "serve", "start_serve"]

# Seconds that anything here may take before the test is broken rather than slow.
PATIENCE = 60.0
# A folder that there is not.
NOWHERE = "/nowhere"


async def start_serve(
    *options: str,
    stdin: int = asyncio.subprocess.DEVNULL,
    stderr: int = asyncio.subprocess.STDOUT,
    cwd: Path | None = None,
) -> asyncio.subprocess.Process:
    """Start ``agenthost serve`` with a pipe from it."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agenthost.cli.main",
        "serve",
        # Whatever lies in the home of whoever runs the tests is none of theirs.
        *([] if "--user-folder" in options else ["--user-folder", NOWHERE]),
        *options,
        *cluster_options(options),
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        cwd=cwd,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


async def refusal(*options: str) -> tuple[int, str, str]:
    """Start a host that cannot start; return its exit code, what it printed and what it said."""
    process = await start_serve(*options, stderr=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


class ServedHost:
    """One ``agenthost serve`` process and the data directory that outlives it."""

    def __init__(self, data_dir: Path, *options: str, cwd: Path | None = None) -> None:
        self.data_dir = data_dir
        self._options = options
        # Where it is started, if that matters: agents are found there.
        self._cwd = cwd
        self._process: asyncio.subprocess.Process | None = None
        # The WebSocket URL without and with its token.
        self.address = ""
        self.url = ""
        # What the process has printed so far, and who reads it on.
        self.output = ""
        self._reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def token(self) -> str:
        return (self.data_dir / "token").read_text().strip()

    async def start(self, *more: str) -> None:
        """Start the process and wait until it says where it listens."""
        options = ("--port", "0", "--data-dir", str(self.data_dir), *self._options, *more)
        self._process = await start_serve(*options, cwd=self._cwd)
        assert self._process.stdout is not None
        self.output = ""
        async with asyncio.timeout(PATIENCE):
            while "Ctrl-C stops it" not in self.output:
                line = await self._process.stdout.readline()
                if not line:
                    raise AssertionError(f"the host did not start:\n{self.output}")
                self.output += line.decode()
        found = re.search(r"WebSocket\s+(ws://\S+)", self.output)
        assert found is not None, self.output
        self.url = found[1]
        self.address = self.url.partition("/?")[0].removeprefix("ws://").rstrip("/")
        # A full pipe would stop the process.
        self._reading = asyncio.create_task(self._read_on(self._process.stdout), name="read on")

    async def _read_on(self, stdout: asyncio.StreamReader) -> None:
        while data := await stdout.read(65536):
            self.output += data.decode(errors="replace")

    async def kill(self) -> None:
        """End the process as a crash would."""
        await self._end(signal.SIGKILL)

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask the process to stop and return its exit code."""
        return await self._end(number)

    async def wait(self) -> int:
        """Wait for the process to end by itself."""
        assert self._process is not None
        async with asyncio.timeout(PATIENCE):
            if self._reading is not None:
                await self._reading
            return await self._process.wait()

    async def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(number)
        return await self.wait()

    @property
    def exit_code(self) -> int | None:
        """How the process ended; None while it runs, negative when a signal ended it."""
        return self._process.returncode if self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None


@asynccontextmanager
async def serve(
    data_dir: Path, *options: str, cwd: Path | None = None
) -> AsyncIterator[ServedHost]:
    """Run a host for the length of a test."""
    host = ServedHost(data_dir, *options, cwd=cwd)
    await host.start()
    try:
        yield host
    finally:
        if host.running:
            await host.kill()


@asynccontextmanager
async def embed(*agents: Agent, **options: Any) -> AsyncIterator[str]:
    """Run a host in this process, where a test can reach its agents; give its WebSocket URL."""
    async with Host(list(agents) or None, **options) as host:
        yield await host.listen(port=0)
