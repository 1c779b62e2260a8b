"""The connection to one agent process, and the errors that people see when it fails."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import cast

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent
from acp.client.connection import ClientSideConnection
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    BooleanConfigOptionCapabilities,
    ClientCapabilities,
    ClientSessionCapabilities,
    FileSystemCapabilities,
    Implementation,
    InitializeResponse,
    PromptCapabilities,
    SessionConfigOptionsCapabilities,
)
from pydantic import ValidationError

from agenthost.agents.acp.connection.agent_process import AgentProcess
from agenthost.agents.acp.connection.client_methods import AcpClientMethods
from agenthost.agents.acp.connection.line_transport import AcpLineTransport
from agenthost.agents.acp.sessions.acp_session import AcpSession
from agenthost.agents.api import AgentError
from agenthost.version import __version__

log = logging.getLogger(__name__)

# Seconds in which an agent must say hello; some are downloaded first.
START_TIMEOUT = 120.0
# Seconds in which the second of two signs of an end, exit and end of output, follows the first.
LAST_BREATH = 0.5
# Characters of an agent's error message that people are shown.
MOST_WORDS = 500
AUTH_REQUIRED = -32000

_CAPABILITIES = ClientCapabilities(
    fs=FileSystemCapabilities(read_text_file=True, write_text_file=True),
    terminal=True,
    session=ClientSessionCapabilities(
        config_options=SessionConfigOptionsCapabilities(boolean=BooleanConfigOptionCapabilities())
    ),
)


class AgentConnection:
    """An agent process and the connection to it."""

    def __init__(self, name: str, process: AgentProcess) -> None:
        self.name = name
        self.process = process
        # ACP session id -> its chat.
        self.sessions: dict[str, AcpSession] = {}
        client = AcpClientMethods(self.sessions)
        self._transport = AcpLineTransport(name, process.stdout, process.stdin, client.has_room)
        # What it leaves out is answered by the package: nobody here has such a method.
        serving = cast(Client, client)
        self.connection: ClientSideConnection = connect_to_agent(serving, self._transport)
        self._answer = InitializeResponse(protocol_version=PROTOCOL_VERSION)
        # Why the host itself ended the process, if it did.
        self._ended_because: str | None = None
        self._closing: asyncio.Task[None] | None = None
        self._watching = asyncio.create_task(self._watch(), name=f"watch {name}[{process.pid}]")

    @classmethod
    async def open(
        cls, name: str, command: Sequence[str], *, cwd: str, env: Mapping[str, str]
    ) -> AgentConnection:
        """Start an agent process and initialize the connection.

        Raises:
            AgentError: it cannot be started, or does not speak ACP.
        """
        try:
            process = await AgentProcess.start(name, command, cwd=cwd, env=env)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "the command is malformed"
            raise AgentError(
                f"{name} cannot be started: {command[0]!r}: {reason}", "agentNotStarted"
            ) from error
        agent = cls(name, process)
        log.info("%s[%d] started in %s", name, process.pid, cwd)
        try:
            async with agent.translated_errors():
                await agent._initialize()
        except BaseException:
            await agent.close(patience=0)
            raise
        return agent

    @property
    def alive(self) -> bool:
        """Whether the process is running and connected."""
        return not (
            self._closing is not None
            or self._transport.ended.is_set()
            or self.process.exited.is_set()
        )

    @property
    def can_load(self) -> bool:
        """Whether the agent can take up a session of an earlier process."""
        return bool(self._capabilities.load_session)

    @property
    def prompts(self) -> PromptCapabilities:
        """The agent's capabilities for prompts: images, audio, embedded resources."""
        return self._capabilities.prompt_capabilities or PromptCapabilities()

    @property
    def _capabilities(self) -> AgentCapabilities:
        return self._answer.agent_capabilities or AgentCapabilities()

    @contextlib.asynccontextmanager
    async def translated_errors(self) -> AsyncIterator[None]:
        """Translate errors of ACP and of the connection into AgentErrors.

        What the agent wrote to standard error meanwhile is often the better half of it.
        """
        heard = self.process.stderr_lines
        try:
            yield
        except RequestError as error:
            raise await self._with_stderr(self._refused(error), heard) from error
        except ConnectionError as error:
            raise await self._failure() from error
        except ValidationError as error:
            log.debug("%s answered %s", self.name, error)
            failure = AgentError(
                f"{self.name} answered something that ACP does not know", "agentProtocol"
            )
            raise await self._with_stderr(failure, heard) from error

    async def close(self, patience: float, because: str | None = None) -> None:
        """End the process, and all commands that ran for it."""
        if self._closing is None:
            self._ended_because = because
            work = self._close(patience)
            self._closing = asyncio.create_task(work, name=f"end {self.name}[{self.process.pid}]")
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            # Whoever waited has no more time.
            self.process.kill()
            raise

    async def _close(self, patience: float) -> None:
        commands = (session.terminals.end_all() for session in self.sessions.values())
        await asyncio.gather(self.process.end(patience), *commands)
        self._watching.cancel()
        try:
            await self.connection.close()
        except Exception:
            # Not ours to repair, and the process is gone.
            log.exception("the connection to %s did not close well", self.name)
        log.info("%s[%d] %s", self.name, self.process.pid, self.process.exit_description)

    async def _watch(self) -> None:
        """Wait for the end of the process or of its output, then close the connection."""
        signs = [
            asyncio.ensure_future(self.process.exited.wait()),
            asyncio.ensure_future(self._transport.ended.wait()),
        ]
        try:
            await asyncio.wait(signs, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(signs, timeout=LAST_BREATH)
        finally:
            for sign in signs:
                sign.cancel()
        deaf = None if self.process.exited.is_set() else "closed its output without ending"
        await self.close(patience=0, because=self._transport.trouble or deaf)

    async def _initialize(self) -> None:
        try:
            async with asyncio.timeout(START_TIMEOUT):
                self._answer = await self.connection.initialize(
                    protocol_version=PROTOCOL_VERSION,
                    client_capabilities=_CAPABILITIES,
                    client_info=_implementation(),
                )
        except TimeoutError as error:
            late = AgentError(
                f"{self.name} did not answer within {START_TIMEOUT:g} seconds", "agentTimeout"
            )
            raise await self._with_stderr(late) from error
        if self._answer.protocol_version != PROTOCOL_VERSION:
            foreign = AgentError(
                f"{self.name} speaks version {self._answer.protocol_version} of ACP;"
                f" this host speaks version {PROTOCOL_VERSION}",
                "agentProtocol",
            )
            raise await self._with_stderr(foreign)

    def _refused(self, error: RequestError) -> AgentError:
        details = error.data.get("details") if isinstance(error.data, dict) else None
        words = str(error) if details is None else f"{error}: {details}"
        told = self.process.redact(words)[:MOST_WORDS]
        if error.code != AUTH_REQUIRED:
            return AgentError(f"{self.name} answered with an error: {told}", "agentRefused")
        ways = ", ".join(method.name for method in self._answer.auth_methods or ())
        how = f" It offers: {ways}." if ways else ""
        return AgentError(
            f"{self.name} wants you to log in, with its own program on the host.{how}",
            "agentAuthRequired",
        )

    async def _failure(self) -> AgentError:
        """Return the error for an agent whose process has ended."""
        await asyncio.wait({self._watching}, timeout=4 * LAST_BREATH)
        await self.close(patience=0)
        fate = self._ended_because or self.process.exit_description
        return await self._with_stderr(AgentError(f"{self.name} {fate}", "agentProcessEnded"))

    async def _with_stderr(self, error: AgentError, since: int = 0) -> AgentError:
        """Return an error with the end of standard error added, after its first ``since`` lines.

        People cannot look there: it is the host's.
        """
        words = await self.process.stderr_tail(since)
        return AgentError(f"{error}; it last said:\n{words}", error.error_type) if words else error


def _implementation() -> Implementation:
    return Implementation(name="agenthost", title="agenthost", version=__version__)
