"""The two ways to reach a server, a process or an address, behind one face."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from mcp.client._transport import TransportStreams

from agenthost.mcp.types import Challenge, McpFailed, ServerDeclaration
from agenthost.mcp.worker.auth import Demand, OutsideTokens, describe
from agenthost.mcp.worker.http import CountingTransport, http_client, http_transport
from agenthost.mcp.worker.log_output import LogOutput
from agenthost.mcp.worker.message_gate import GatedReads, GatedWrites, MessageGate
from agenthost.mcp.worker.stdio import ServerProcess, stdio_transport


class Carrier(Protocol):
    """Carries messages to a server and back."""

    gate: MessageGate

    def transport(self) -> contextlib.AbstractAsyncContextManager[TransportStreams]:
        """Open the streams of messages, once."""
        ...

    async def gone(self) -> None:
        """Wait until the server is not there any more, if that can be known."""
        ...

    async def explain(self, failure: McpFailed) -> str:
        """Say more about a failure than the failure does."""
        ...

    async def describe(self, demand: Demand) -> Challenge:
        """Find out what a server wants that asks for a token; see ``auth.describe``."""
        ...

    def give_token(self, token: str) -> None:
        """Use another token from now on."""
        ...

    async def end(self) -> None:
        """Let go of the server; nothing of it is left afterwards."""
        ...


@contextlib.asynccontextmanager
async def _gated(
    opened: contextlib.AbstractAsyncContextManager[TransportStreams], gate: MessageGate
) -> AsyncIterator[TransportStreams]:
    async with opened as (reads, writes):
        yield GatedReads(reads, gate), GatedWrites(writes, gate)


class StdioCarrier:
    """Carries messages over the pipes of a process."""

    def __init__(self, process: ServerProcess, log: LogOutput) -> None:
        self.gate = MessageGate()
        self._process = process
        self._log = log

    @classmethod
    async def open(
        cls, declaration: ServerDeclaration, folder: str | None, mark: str, log: LogOutput
    ) -> StdioCarrier:
        """Start the server's process.

        Raises:
            McpFailed: it cannot be started.
        """
        try:
            return cls(await ServerProcess.start(declaration, folder, mark), log)
        except OSError as error:
            assert declaration.command is not None
            reason = error.strerror or str(error)
            text = f"{error.filename or declaration.command[0]}: {reason}"
            raise McpFailed(text, "closed") from error

    def transport(self) -> contextlib.AbstractAsyncContextManager[TransportStreams]:
        """Open the streams of messages, once."""
        return _gated(stdio_transport(self._process, self.gate, self._log), self.gate)

    async def gone(self) -> None:
        """Wait until the process has ended."""
        await self._process.exited.wait()

    async def explain(self, failure: McpFailed) -> str:
        """Say how the process ended, if it did, and the last that it printed."""
        text = failure.text
        if failure.kind == "closed":
            # Its output ends a moment before it does.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._process.exited.wait()
            text = self._process.ending
        tail = self._log.tail
        return f"{text}: {tail}" if tail else text

    async def describe(self, demand: Demand) -> Challenge:
        """Nobody signs in at a process."""
        raise NotImplementedError

    def give_token(self, token: str) -> None:
        """Nobody signs in at a process."""

    async def end(self) -> None:
        """End the process and all that it started."""
        await self._process.end()


class HttpCarrier:
    """Carries messages over streamable HTTP."""

    def __init__(
        self,
        declaration: ServerDeclaration,
        token: str | None,
        demanded: Callable[[Demand], None],
    ) -> None:
        assert declaration.url is not None
        self.gate = MessageGate()
        self._url = declaration.url
        self._tokens = OutsideTokens(token, demanded)
        self._counting = CountingTransport(self.gate)
        self._client = http_client(self._counting, declaration.headers, self._tokens)

    def transport(self) -> contextlib.AbstractAsyncContextManager[TransportStreams]:
        """Open the streams of messages, once."""
        return _gated(http_transport(self._url, self._client), self.gate)

    async def gone(self) -> None:
        """Wait for ever: only the next request can tell."""
        await asyncio.Event().wait()

    async def explain(self, failure: McpFailed) -> str:
        """Name the status of the last refusal, which the package keeps to itself."""
        status = self._counting.refusal
        return failure.text if status is None else f"{failure.text} (HTTP {status})"

    async def describe(self, demand: Demand) -> Challenge:
        """Find out what the server wants."""
        return await describe(demand, self._url, self._client)

    def give_token(self, token: str) -> None:
        """Use another token from now on; what waits for one goes on."""
        self._tokens.give(token)

    async def end(self) -> None:
        """Close all connections."""
        await self._client.aclose()
