"""The command line as people and scripts use it: in processes of its own, against a real host."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from agenthost.cli.main import main
from agenthost.client import Client, ConfirmationNeeded, connect
from agenthost.local_host import HOST_FILE
from tests.wire.hosting import PATIENCE, ServedHost, serve

__all__ = ["Cli", "Done", "Running", "serving"]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document that it printed."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The JSON lines that it printed."""
        return [json.loads(line) for line in self.out.splitlines()]


class Running:
    """A command that has not ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> str:
        """Return its next line of output; empty when there are no more."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return (await self._process.stdout.readline()).decode().rstrip("\n")

    async def until(self, text: str) -> str:
        """Return its first line with a text in it."""
        while line := await self.line():
            if text in line:
                return line
        raise AssertionError(f"there is no line with {text!r}")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal that does not end it."""
        self._process.send_signal(number)

    async def end(self, number: signal.Signals | None = None) -> Done:
        """Wait for its end, after a signal if one is given."""
        if number is not None:
            self._process.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            out, err = await self._process.communicate()
        assert self._process.returncode is not None
        return Done(self._process.returncode, out.decode(), err.decode())


class Cli:
    """``agenthost`` on the machine of a host, which it finds by its data directory."""

    def __init__(self, data_dir: Path, cwd: Path, host: ServedHost | None = None) -> None:
        self.data_dir = data_dir
        self.cwd = cwd
        self._host = host

    @property
    def host(self) -> ServedHost:
        assert self._host is not None
        return self._host

    @property
    def wire_log(self) -> Path:
        return self.data_dir.parent / "wire.jsonl"

    async def __call__(self, *arguments: str, stdin: str = "", **environ: str) -> Done:
        """Run a command to its end."""
        process = await self._spawn(arguments, environ)
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate(stdin.encode())
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())

    async def main(self, *arguments: str, stdin: str = "") -> Done:
        """Run a command to its end in a thread of this process, which is quicker to start."""
        return await asyncio.to_thread(self._main, arguments, stdin)

    def _main(self, arguments: tuple[str, ...], stdin: str) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with ExitStack() as stack:
            stack.enter_context(mock.patch.dict(os.environ, self._environ({}), clear=True))
            stack.enter_context(mock.patch("sys.stdin", io.StringIO(stdin)))
            stack.enter_context(redirect_stdout(out))
            stack.enter_context(redirect_stderr(err))
            try:
                code = main(arguments)
            except SystemExit as ended:
                code = int(ended.code or 0)
        return Done(code, out.getvalue(), err.getvalue())

    @asynccontextmanager
    async def running(self, *arguments: str) -> AsyncIterator[Running]:
        """Run a command for the length of a block."""
        process = await self._spawn(arguments, {})
        try:
            yield Running(process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def with_output(self, output: int, *arguments: str, **environ: str) -> tuple[int, str]:
        """Run a command that writes to a file descriptor; return its code and what it says."""
        process = await self._spawn(arguments, environ, output)
        os.close(output)
        async with asyncio.timeout(PATIENCE):
            _, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, err.decode()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Connect a client of the same host to see what commands do to it."""
        async with connect(self.host.address, token=self.host.token) as client:
            yield client

    async def new(self, text: str) -> str:
        """Start a session with a prompt, deny what it asks for, and return its URI."""
        async with self.client() as client:
            session = await client.sessions.create()
            chat = await session.chat()
            async for event in chat.send(text):
                if isinstance(event, ConfirmationNeeded):
                    await chat.deny(event.call)
            return session.uri

    async def _spawn(
        self,
        arguments: tuple[str, ...],
        environ: dict[str, str],
        stdout: int = asyncio.subprocess.PIPE,
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "agenthost.cli.main",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=stdout,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.cwd,
            env=self._environ(environ),
        )

    def _environ(self, more: dict[str, str]) -> dict[str, str]:
        # A test runner's idea of the terminal's width must not reach the command.
        foreign = ("COLUMNS", "LINES")
        kept = {
            name: text
            for name, text in os.environ.items()
            if "AGENTHOST" not in name and name not in foreign
        }
        here = {"AGENTHOST_DATA_DIR": str(self.data_dir), "PYTHONPATH": str(_ROOT)}
        return {**kept, **here, **more}


def _await_file(path: Path) -> None:
    # A host says that it listens before it leaves a note for other commands.
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"there is no {path}"
        time.sleep(0.01)


@asynccontextmanager
async def serving(folder: Path, *options: str) -> AsyncIterator[Cli]:
    """Run a host, and the command line beside it, until the block ends."""
    work = folder / "work"
    work.mkdir()
    async with serve(folder / "data", *options, cwd=work) as host:
        await asyncio.to_thread(_await_file, folder / "data" / HOST_FILE)
        yield Cli(folder / "data", work, host)


_ROOT = Path(__file__).parents[2]
