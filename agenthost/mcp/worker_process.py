"""One life of the worker: its process, the commands sent to it, and what it tells.

Knows no servers; `link.py` does, and starts another worker when this one dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import logging
import os
import secrets
import sys
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson

from agenthost.line_splitting import CHUNK, LineSplitter
from agenthost.mcp.limits import MOST_WORKER_LINE
from agenthost.mcp.lines import encoded
from agenthost.mcp.process_marks import below, kill_all, marked
from agenthost.mcp.types import McpFailed

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject


log = logging.getLogger(__name__)

NOT_INSTALLED = (
    "MCP servers need: pip install 'agenthost[mcp]', or in a checkout pip install '.[mcp]'"
)
GONE = "the process that runs MCP servers has ended"
# Bytes from which on parsing would hold up the host's loop.
_LARGE = 256 * 1024
# Characters of what a worker that died said last.
_LAST_WORDS = 500
# Seconds in which a worker whose input is closed ends everything.
_PATIENCE = 4.0
# What a worker and its servers need of the host's environment, which holds its secrets too.
_PASSED_ON = (
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "TZ",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip


class WorkerProcess:
    """A worker that runs, until it ends or is closed."""

    def __init__(
        self,
        process: Process,
        transport: asyncio.SubprocessTransport,
        worker_id: str,
        told: Callable[[JsonObject], None],
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._transport = transport
        self._id = worker_id
        self._input = process.stdin
        self._told = told
        self._numbers = itertools.count(1)
        # Commands that are not answered yet, and where their progress goes.
        self._open: dict[int, asyncio.Future[JsonObject]] = {}
        self._progress: dict[int, Callable[[str], None]] = {}
        self._last_words = b""
        self._is_ending = False
        self._reading = asyncio.create_task(self._read(process.stdout), name="MCP worker")
        self._hearing = asyncio.create_task(self._hear(process.stderr), name="MCP worker's errors")

    @classmethod
    async def start(cls, told: Callable[[JsonObject], None]) -> WorkerProcess:
        """Start a worker; ``told`` gets what it tells, in order.

        Raises:
            McpFailed: it cannot be started.
        """
        if importlib.util.find_spec("mcp") is None:
            raise McpFailed(NOT_INSTALLED, "closed")
        worker_id = secrets.token_hex(16)
        loop = asyncio.get_running_loop()
        try:
            # With a hand on the transport: who inherited a pipe would keep it open for ever.
            transport, protocol = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(limit=CHUNK, loop=loop),
                sys.executable,
                # What lies in some folder, or is named in some variable, is not imported.
                "-EP",
                "-m",
                "agenthost.mcp.worker",
                worker_id,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd="/",
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                # What ends the host's own group must not end it: it has to clean up.
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            text = f"the process that runs MCP servers cannot be started: {reason}"
            raise McpFailed(text, "closed") from error
        return cls(Process(transport, protocol, loop), transport, worker_id, told)

    @property
    def pid(self) -> int:
        """The process that does the work."""
        return self._process.pid

    @property
    def is_ending(self) -> bool:
        """Whether nothing that is sent now will be read; also before its end was heard of."""
        return self._is_ending or self._has_exited()

    def _has_exited(self) -> bool:
        if not hasattr(os, "waitid"):
            # Not everywhere; then it is heard of a moment later.
            return False
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self._process.pid, look) is not None
        except ChildProcessError:
            # Buried already.
            return True

    @property
    def ended(self) -> asyncio.Task[None]:
        """Is done when nothing more will be told, and no process of any server is left."""
        return self._reading

    @property
    def why(self) -> str:
        """What to tell of its end."""
        words = self._last_words.decode(errors="replace").strip()[-_LAST_WORDS:]
        return f"{GONE}: {words}" if words else GONE

    async def ask(
        self, command: JsonObject, progress: Callable[[str], None] | None = None
    ) -> JsonObject:
        """Send a command and return its result; cancelled, it is taken back.

        Raises:
            McpFailed: there is no result.
        """
        number = next(self._numbers)
        reply: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._open[number] = reply
        if progress is not None:
            self._progress[number] = progress
        try:
            self.tell({**command, "id": number})
            with contextlib.suppress(OSError):
                await self._input.drain()
            return await reply
        except asyncio.CancelledError:
            self.tell({"do": "cancel", "id": number})
            raise
        finally:
            self._open.pop(number, None)
            self._progress.pop(number, None)

    def tell(self, command: JsonObject) -> None:
        """Send something that has no result.

        Raises:
            McpFailed: it is too long, or cannot be carried.
        """
        try:
            line = encoded(command)
        except TypeError as error:
            raise McpFailed("this cannot be written as JSON", "refused") from error
        if len(line) > MOST_WORKER_LINE:
            raise McpFailed("this is too long for an MCP server", "tooLarge")
        if self._reading.done():
            raise McpFailed(self.why, "closed")
        self._input.write(line)

    async def close(self) -> None:
        """Let it end, with everything that it started."""
        self._input.close()
        try:
            async with asyncio.timeout(_PATIENCE):
                await asyncio.shield(self._reading)
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """Kill it, and wait until all that it started is gone too."""
        # First those below it: who has left its group and environment has no other mark.
        if self._process.returncode is None:
            await asyncio.to_thread(kill_all, lambda: below(self.pid, itself=False))
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await asyncio.wait({self._reading})

    async def _read(self, output: asyncio.StreamReader) -> None:
        lines = LineSplitter(MOST_WORKER_LINE)
        try:
            while data := await output.read(CHUNK):
                for line in lines.feed(data):
                    large = len(line) >= _LARGE
                    message = await asyncio.to_thread(orjson.loads, line) if large else None
                    self._take(message or orjson.loads(line))
        except Exception:
            # No worker of ours sends such a thing; what it is now cannot be told.
            log.exception("the process that runs MCP servers cannot be understood")
        finally:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._clean_up()

    async def _clean_up(self) -> None:
        """End what a worker that was killed could not end itself, then tell that it is gone."""
        self._is_ending = True
        await asyncio.wait({self._hearing}, timeout=1)
        await asyncio.to_thread(kill_all, lambda: marked(self._id))
        await self._process.wait()
        self._hearing.cancel()
        self._transport.close()
        for reply in self._open.values():
            if not reply.done():
                reply.set_exception(McpFailed(self.why, "closed"))

    def _take(self, message: JsonObject) -> None:
        match message["event"]:
            case "reply":
                self._reply(message)
            case "progress":
                self._tell_progress(message)
            case _:
                self._told(message)

    def _tell_progress(self, message: JsonObject) -> None:
        if (told := self._progress.get(message["id"])) is None:
            return
        try:
            told(message["text"])
        except Exception:
            log.exception("the progress of a call could not be told")

    def _reply(self, message: JsonObject) -> None:
        reply = self._open.get(message["id"])
        if reply is None or reply.done():
            return
        if (error := message.get("error")) is not None:
            reply.set_exception(
                McpFailed(error["text"], error["kind"], code=error["code"], data=error["data"])
            )
        else:
            reply.set_result(message["result"])

    async def _hear(self, errors: asyncio.StreamReader) -> None:
        while data := await errors.read(CHUNK):
            self._last_words = (self._last_words + data)[-4 * _LAST_WORDS :]
