"""A server behind HTTP and OAuth, in a process of its own, and the tokens that it takes."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agenthost.mcp.types import ServerDeclaration
from tests.mcp.servers import REPOSITORY

__all__ = ["Locked", "locked_in"]


@dataclass
class Locked:
    """The server of ``locked_server.py`` while it runs."""

    url: str
    folder: Path
    process: asyncio.subprocess.Process

    @property
    def declaration(self) -> ServerDeclaration:
        return ServerDeclaration("locked", url=self.url)

    def accept(self, *lines: str) -> None:
        (self.folder / "tokens").write_text("\n".join(lines))

    @property
    def notes(self) -> list[str]:
        file = self.folder / "notes"
        return file.read_text().splitlines() if file.exists() else []


@asynccontextmanager
async def locked_in(folder: Path) -> AsyncIterator[Locked]:
    """Run the server with its files in a folder; it takes the token ``good``."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "-m", "tests.mcp.locked_server", str(folder)),
        stdout=PIPE,
        cwd=REPOSITORY,
    )
    assert process.stdout is not None
    port = int(await process.stdout.readline())
    locked = Locked(f"http://127.0.0.1:{port}/mcp", folder, process)
    locked.accept("good tools")
    try:
        yield locked
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
