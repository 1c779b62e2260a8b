"""The terminals of one running turn: they end with it, unless they became background work.

Works on the host's loop, whatever the agent does: a command that somebody lets go on in the
background is listed here and not by the agent, which may be busy or gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from agenthost.agents.api import AgentError
from agenthost.agents.background_work import checked_work, shell_work
from agenthost.agents.terminal_run import command_line, work_id_of
from agenthost.agents.turn_port import TerminalEnd, TerminalsUnsupported
from agenthost.host.channels.chat.extra import ChatChannel
from agenthost.host.channels.session.kind import SessionChannel
from agenthost.host.channels.terminal.claims import is_in_call, narrowed
from agenthost.host.log.writer import Writer
from agenthost.host.turns.background_work import BackgroundWorks

if TYPE_CHECKING:
    from agenthost.host.channels.terminal.host_terminal import HostTerminal
    from agenthost.host.channels.terminal.terminals import HostTerminals

# Seconds that a turn waits for what a former one left in terminals, when there is no room.
ENDING_PATIENCE = 3.0


class OpenTerminal:
    """A terminal that a turn opened, and the command in it."""

    def __init__(self, terminal: HostTerminal, session: str, line: str) -> None:
        self.terminal = terminal
        self.session = session
        # The command as people would type it.
        self.line = line
        # Whether it outlives the turn; whether somebody stopped it since.
        self.runs_on = False
        self.is_stopped = False
        # Lists it when somebody lets it go on; settled when the command has ended or goes on.
        self.waiting: asyncio.Task[TerminalEnd] | None = None

    async def output(self) -> str:
        """Return the end of what the command has printed so far."""
        return self.terminal.output()

    async def kill(self) -> None:
        """End the command and wait until it has."""
        await self.terminal.kill()

    async def exited(self) -> TerminalEnd:
        """Wait until the command has ended, wherever it ran on."""
        await self.terminal.exited()
        if self.is_stopped:
            raise AgentError("the work was stopped", "stopped")
        outcome = await self.terminal.ended()
        return TerminalEnd(outcome.exit_code, outcome.output, outcome.truncated)


class TurnTerminals:
    """What one turn runs in terminals."""

    def __init__(
        self,
        terminals: HostTerminals | None,
        works: BackgroundWorks,
        writer: Writer,
        ending: set[OpenTerminal],
        chat: ChatChannel,
        session: SessionChannel,
        turn_id: str,
    ) -> None:
        self._terminals = terminals
        self._works = works
        self._writer = writer
        self._chat = chat
        self._session = session
        self._turn_id = turn_id
        self._open: set[OpenTerminal] = set()
        # Those of all turns that are over, as long as they have not ended.
        self._ending = ending

    async def open(
        self,
        command: str | Sequence[str],
        *,
        title: str,
        tool_call_id: str | None,
        cwd: str,
        env: Mapping[str, str] | None,
    ) -> OpenTerminal:
        """Run a command in a terminal of its own; AgentError says why that cannot be."""
        # Loaded with the first terminal, and not with the host.
        from agenthost.workspace.pty.process import supported

        if self._terminals is None or not supported():
            raise TerminalsUnsupported("this host has no terminals", "noTerminals")
        run = partial(
            self._terminals.run,
            self._chat.uri,
            self._session.uri,
            command,
            turn_id=self._turn_id,
            tool_call_id=tool_call_id,
            title=title,
            cwd=cwd,
            env=env,
        )
        try:
            terminal = await self._start(run)
        except ValueError as error:
            # Anything may be in what a model writes.
            told = "the command could not be started: it has a character that none may have"
            raise AgentError(told, "notStarted") from error
        opened = OpenTerminal(terminal, self._session.uri, command_line(command))
        self._open.add(opened)
        opened.waiting = asyncio.create_task(self._wait(opened), name=f"wait for {terminal.uri}")
        opened.waiting.add_done_callback(lambda _: self._settle(opened))
        return opened

    async def _start(self, run: Callable[[], Awaitable[HostTerminal]]) -> HostTerminal:
        """Start a command; where there is no room, once more when former ones have ended."""
        try:
            return await run()
        except AgentError as error:
            if error.error_type != "tooManyTerminals" or not await self._room():
                raise
        return await run()

    async def _room(self) -> bool:
        """Wait for what former turns of the session left, and say whether there was any."""
        waiting = {
            opened.waiting
            for opened in self._ending
            if opened.session == self._session.uri and opened.waiting is not None
        }
        if waiting:
            await asyncio.wait(waiting, timeout=ENDING_PATIENCE)
        return bool(waiting)

    async def wait(self, opened: OpenTerminal) -> TerminalEnd:
        """Wait until a command has ended, or goes on in the background."""
        assert opened.waiting is not None
        return await asyncio.shield(opened.waiting)

    async def run_on(self, opened: OpenTerminal, label: str) -> None:
        """Let a command go on after the turn, listed in the chat; AgentError if that cannot be."""
        self._list(opened, label)

    def end(self) -> None:
        """End what the turn left running, now that it is over."""
        for opened in list(self._open):
            if not opened.runs_on:
                self._ending.add(opened)
                opened.terminal.end()

    async def _wait(self, opened: OpenTerminal) -> TerminalEnd:
        outcome = await opened.terminal.ended()
        if outcome.detached:
            try:
                self._list(opened, opened.line)
            except AgentError:
                # There is no room for it, and nobody else would end it.
                await opened.terminal.kill()
                outcome = await opened.terminal.ended()
        return TerminalEnd(
            outcome.exit_code, outcome.output, outcome.truncated, detached=opened.runs_on
        )

    def _settle(self, opened: OpenTerminal) -> None:
        self._open.discard(opened)
        self._ending.discard(opened)

    def _list(self, opened: OpenTerminal, label: str) -> None:
        if opened.runs_on or opened.terminal.over.is_set():
            return
        uri = opened.terminal.uri
        work = {"id": work_id_of(uri), **shell_work(label, opened.line, uri)}
        self._works.start(self._chat, checked_work(work), lambda: self._follow(opened))
        opened.runs_on = True
        claim = opened.terminal.channel.state["claim"]
        if is_in_call(claim):
            # The call goes on without it.
            action = {"type": "terminal/claimed", "claim": narrowed(claim)}
            self._writer.apply(opened.terminal.channel, action)

    def _follow(self, opened: OpenTerminal) -> asyncio.Task[None]:
        name = f"follow {opened.terminal.uri}"
        return asyncio.create_task(self._see_through(opened), name=name)

    async def _see_through(self, opened: OpenTerminal) -> None:
        """Stay as long as a command runs; who stops this ends the command."""
        try:
            await opened.terminal.exited()
        except asyncio.CancelledError:
            opened.is_stopped = True
            opened.terminal.end()
            raise
