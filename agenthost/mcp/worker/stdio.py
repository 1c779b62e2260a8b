"""A server as a child process: its pipes, its end, and the end of all that it started.

A transport of our own under the official client: the package's has no bound for a line, and leaves
processes that called ``setsid``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Mapping

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, jsonrpc_message_adapter

from agenthost.line_splitting import CHUNK, LineSplitter, LineTooLong
from agenthost.mcp.limits import (
    MOST_BAD_MESSAGES,
    MOST_JUNK,
    MOST_LINE,
    PATIENCE_ASKED,
    PATIENCE_CLOSED,
)
from agenthost.mcp.process_marks import MARK, below, kill_all, marked, of_group
from agenthost.mcp.types import ServerDeclaration
from agenthost.mcp.worker import reaping
from agenthost.mcp.worker.log_output import LogOutput
from agenthost.mcp.worker.message_gate import MessageGate

# Not the host's secrets: what a server needs besides is declared with it.
_PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "TZ")
# Seconds between two looks at whether a group is empty.
_POLL = 0.02


class _Protocol(SubprocessStreamProtocol):
    """Streams and an exit event: ``Process.wait`` also waits for heirs of the pipes."""

    def __init__(self) -> None:
        super().__init__(limit=CHUNK, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class ServerProcess:
    """The process of one server, which leads a group of its own and bears a mark."""

    def __init__(
        self, transport: asyncio.SubprocessTransport, protocol: _Protocol, mark: str
    ) -> None:
        assert protocol.stdin is not None
        assert protocol.stdout is not None
        assert protocol.stderr is not None
        self.stdin, self.stdout, self.stderr = protocol.stdin, protocol.stdout, protocol.stderr
        self.exited = protocol.exited
        self.pid = transport.get_pid()
        self._transport = transport
        self._mark = mark
        reaping.owned.add(self.pid)

    @classmethod
    async def start(
        cls, declaration: ServerDeclaration, folder: str | None, mark: str
    ) -> ServerProcess:
        """Start a server.

        Raises:
            OSError: there is no such program or folder.
        """
        assert declaration.command is not None
        with reaping.held_off():
            transport, protocol = await asyncio.get_running_loop().subprocess_exec(
                _Protocol,
                *declaration.command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=_folder(declaration, folder),
                env=_environment(declaration.env, mark),
                start_new_session=True,
            )
            return cls(transport, protocol, mark)

    @property
    def ending(self) -> str:
        """How it ended."""
        code = self._transport.get_returncode()
        if code is None:
            return "it closed its output"
        if code < 0:
            return f"it was killed by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}"

    async def end(self) -> None:
        """End it and all that it started: by closing its input, by SIGTERM, by SIGKILL."""
        # Those who cleared their environment and left the group are only found while their
        # parents live.
        known = set(await asyncio.to_thread(below, self.pid)) if not self.exited.is_set() else set()
        try:
            # Not waited for: what does not read will never take what is in the pipe.
            self.stdin.close()
            if not await self._emptied(PATIENCE_CLOSED):
                self._signal(signal.SIGTERM)
                await self._emptied(PATIENCE_ASKED)
        finally:
            self._signal(signal.SIGKILL)
        await asyncio.to_thread(kill_all, lambda: self._left(known), reap=reaping.reap_orphans)
        await self.exited.wait()
        reaping.owned.discard(self.pid)
        reaping.reap_orphans()
        self._transport.close()

    def _left(self, known: set[int]) -> set[int]:
        here = set(below(os.getpid(), itself=False))
        return {*marked(self._mark), *(here & known), *(here & set(of_group(self.pid)))}

    async def _emptied(self, seconds: float) -> bool:
        """Wait until nobody is left in the group; False when that takes too long."""
        try:
            async with asyncio.timeout(seconds):
                await self.exited.wait()
                # Whoever outlives its leader had its chance.
                while self._signal(signal.SIGTERM):  # noqa: ASYNC110
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            return False
        return True

    def _signal(self, number: int) -> bool:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def _folder(declaration: ServerDeclaration, folder: str | None) -> str:
    return os.path.join(folder or os.path.expanduser("~"), declaration.cwd or "")


def _environment(declared: Mapping[str, str], mark: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, **declared, MARK: mark}


@contextlib.asynccontextmanager
async def stdio_transport(
    process: ServerProcess, gate: MessageGate, log: LogOutput
) -> AsyncIterator[TransportStreams]:
    """Carry messages over a process's pipes; how the process ends is not decided here."""
    incoming, reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writes, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_Reader(process, gate, log).run, incoming)
        tasks.start_soon(_write, process, outgoing)
        tasks.start_soon(_read_errors, process, log)
        try:
            async with reads, writes:
                yield reads, writes
        finally:
            tasks.cancel_scope.cancel()


class _Reader:
    """Reads what a server prints, and gives it up when that is not what it should be."""

    def __init__(self, process: ServerProcess, gate: MessageGate, log: LogOutput) -> None:
        self._process = process
        self._gate = gate
        self._log = log
        self._junk = 0
        self._bad = 0

    async def run(self, incoming: ObjectSendStream[SessionMessage | Exception]) -> None:
        lines = LineSplitter(MOST_LINE)
        async with incoming:
            try:
                while data := await self._process.stdout.read(CHUNK):
                    for line in lines.feed(data):
                        await self._take(line, incoming)
                        if self._gate.reason is not None:
                            return
            except LineTooLong:
                self._gate.give_up(f"it printed a line of more than {MOST_LINE >> 20} MiB")
            except (OSError, anyio.BrokenResourceError):
                return

    async def _take(
        self, line: bytes, incoming: ObjectSendStream[SessionMessage | Exception]
    ) -> None:
        if not line.startswith(b"{"):
            self._count_junk(line)
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._bad += 1
            self._log.add(b"not a message: " + line[:200] + b"\n")
            if self._bad > MOST_BAD_MESSAGES:
                self._gate.give_up(f"it sent {self._bad} messages that are none")
            return
        if isinstance(message, JSONRPCNotification):
            await self._gate.slow_down(len(line))
        await incoming.send(SessionMessage(message))

    def _count_junk(self, line: bytes) -> None:
        self._junk += len(line) + 1
        self._log.add(line + b"\n", error=True)
        if self._junk > MOST_JUNK:
            self._gate.give_up(f"it printed {self._junk} bytes that are no messages")


async def _write(process: ServerProcess, outgoing: ObjectReceiveStream[SessionMessage]) -> None:
    async with outgoing:
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
            except OSError:
                # It reads no more; its end, or its silence, is told by others.
                return


async def _read_errors(process: ServerProcess, log: LogOutput) -> None:
    while data := await process.stderr.read(CHUNK):
        log.add(data, error=True)
