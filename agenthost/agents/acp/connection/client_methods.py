"""The ACP client methods that agents call: updates, permissions, files, terminals.

What has no method here is refused by the ``acp`` package.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from acp import RequestError
from acp.schema import (
    CreateTerminalResponse,
    EnvVariable,
    KillTerminalResponse,
    PermissionOption,
    ReadTextFileResponse,
    ReleaseTerminalResponse,
    RequestPermissionResponse,
    TerminalExitStatus,
    TerminalOutputResponse,
    ToolCallUpdate,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

from agenthost.agents.acp.connection.files import read_text, write_text
from agenthost.agents.acp.connection.terminals import Terminal, TerminalRefused
from agenthost.agents.acp.sessions.acp_session import AcpSession
from agenthost.agents.acp.turns.permissions import cancelled
from agenthost.agents.acp.turns.updates import PermissionRequest, TurnUpdates
from agenthost.agents.folders import FileRefused, NoSuchFile

_T = TypeVar("_T")


class AcpClientMethods:
    """Serves the requests of one agent process, each within the chat that it belongs to."""

    def __init__(self, sessions: Mapping[str, AcpSession]) -> None:
        # ACP session id -> its chat; filled as sessions are opened.
        self._sessions = sessions

    async def has_room(self) -> None:
        """Wait until every running turn has room for more."""
        for session in list(self._sessions.values()):
            if isinstance(session.sink, TurnUpdates):
                await session.sink.has_room()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        """Pass an update on to the turn that runs; without one it is of no use."""
        session = self._sessions.get(session_id)
        if session is not None and session.sink is not None:
            session.sink.put(update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **kwargs: Any,
    ) -> RequestPermissionResponse:
        """Let people decide; nobody can when no turn runs."""
        sink = self._session(session_id).sink
        if not isinstance(sink, TurnUpdates):
            return cancelled()
        request = PermissionRequest(tool_call, options)
        sink.put(request)
        return await request.answer

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **kwargs: Any,
    ) -> ReadTextFileResponse:
        """Read a file inside the chat's folders."""
        folders = self._session(session_id).folders
        text = await _served(path, lambda: read_text(folders, path, line, limit))
        return ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> WriteTextFileResponse:
        """Write a file inside the chat's folders."""
        session = self._session(session_id)
        folders = session.folders
        if isinstance(session.sink, TurnUpdates):
            await session.sink.turn.port.may_act()
        await _served(path, lambda: write_text(folders, path, content))
        return WriteTextFileResponse()

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **kwargs: Any,
    ) -> CreateTerminalResponse:
        """Run a command, as long as a turn wants it."""
        session = self._session(session_id)
        if not isinstance(session.sink, TurnUpdates):
            raise _refusal("commands run only during a turn")
        try:
            id = await session.terminals.create(
                session.sink.turn,
                command,
                args or (),
                cwd=str(session.folders.resolve(cwd or ".")),
                env={variable.name: variable.value for variable in env or ()},
                limit=output_byte_limit,
            )
        except (TerminalRefused, FileRefused) as error:
            raise _refusal(str(error)) from error
        return CreateTerminalResponse(terminal_id=id)

    async def terminal_output(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> TerminalOutputResponse:
        """Return what a command has printed so far."""
        terminal = self._terminal(session_id, terminal_id)
        output, truncated = await terminal.limited()
        status = None
        if terminal.has_ended:
            status = TerminalExitStatus(exit_code=terminal.exit_code, signal=terminal.signal)
        return TerminalOutputResponse(output=output, truncated=truncated, exit_status=status)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> WaitForTerminalExitResponse:
        """Wait until a command has ended."""
        terminal = self._terminal(session_id, terminal_id)
        await terminal.wait()
        return WaitForTerminalExitResponse(exit_code=terminal.exit_code, signal=terminal.signal)

    async def kill_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> KillTerminalResponse:
        """End a command; its output can still be read."""
        await self._terminal(session_id, terminal_id).kill()
        return KillTerminalResponse()

    async def release_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> ReleaseTerminalResponse:
        """End a command and forget it."""
        terminal = self._terminal(session_id, terminal_id)
        self._session(session_id).terminals.forget(terminal_id)
        await terminal.kill()
        return ReleaseTerminalResponse()

    def _session(self, session_id: str) -> AcpSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise _refusal(f"there is no session {session_id}")
        return session

    def _terminal(self, session_id: str, terminal_id: str) -> Terminal:
        terminal = self._session(session_id).terminals.get(terminal_id)
        if terminal is None:
            raise _refusal(f"there is no terminal {terminal_id}")
        return terminal


async def _served(path: str, work: Callable[[], _T]) -> _T:
    """Do file work in a thread; refusals become errors of ACP."""
    try:
        return await asyncio.to_thread(work)
    except NoSuchFile as error:
        raise RequestError.resource_not_found(path) from error
    except FileRefused as error:
        raise _refusal(str(error)) from error


def _refusal(reason: str) -> RequestError:
    return RequestError.invalid_params({"details": reason})
