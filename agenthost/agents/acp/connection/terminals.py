"""Commands that an agent lets the host run: in terminals that people can watch, ended on request.

Where the host has no terminals they are plain child processes, whose output is shown as text.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agenthost.agents import content
from agenthost.agents.api import AgentError
from agenthost.agents.processes import MOST_OUTPUT, command_environment, run_command
from agenthost.agents.terminal_run import plain_text, shown_result
from agenthost.agents.turn import Turn
from agenthost.agents.turn_port import AgentTerminal, TerminalEnd, TerminalsUnsupported
from agenthost.errors import AgentHostError

Listener = Callable[[], Awaitable[None]]

# Commands of one chat that may exist at a time, running or not yet released.
MOST_TERMINALS = 32
# What a shell answers for a program that it cannot run.
NOT_RUN = 127


class TerminalRefused(AgentHostError):
    """A terminal cannot be created; the message says why."""


class Terminal:
    """One command and what it printed."""

    def __init__(self, id: str, command: str | Sequence[str], limit: int | None) -> None:
        self.id = id
        self._command = command
        # Bytes of output that the agent wants to see at most.
        self._limit = limit
        # The terminal in which people see it; None where it runs without.
        self._shown: AgentTerminal | None = None
        self._end: TerminalEnd | None = None
        # The end of what it printed, and whether that is not all.
        self.output = ""
        self._truncated = False
        # How it ended: an exit code, or the name of the signal with which the host ended it.
        self.exit_code: int | None = None
        self.signal: str | None = None
        # Called whenever there is more output that is not seen in a terminal.
        self.listeners: list[Listener] = []
        self._is_stopped = False
        self._task: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the command has ended, or somebody let it go on without the agent."""
        return self._task is not None and self._task.done()

    @property
    def block(self) -> dict[str, Any] | None:
        """The terminal as content of a tool call; None where there is nothing but text."""
        if self._shown is None:
            return None
        has_ended = self._end is not None and not self._end.detached
        result = shown_result(self._end) if self._end is not None and has_ended else None
        return content.terminal(self._shown.uri, self._shown.title, result)

    async def limited(self) -> tuple[str, bool]:
        """Return the output within the agent's limit, and whether that is not all of it."""
        if self._shown is not None and self._end is None:
            self._take_text(await self._shown.output())
        data = self.output.encode()
        if self._limit is None or len(data) <= self._limit:
            return self.output, self._truncated
        kept = data[len(data) - self._limit :]
        # The cut may go through a character.
        return kept.decode(errors="ignore"), True

    async def start(self, turn: Turn, cwd: str, env: Mapping[str, str]) -> None:
        """Start the command; TerminalRefused if there may be no more."""
        work: Awaitable[None]
        try:
            self._shown = await turn.open_terminal(self._command, cwd=cwd, env=env)
        except TerminalsUnsupported:
            work = self._run_plain(cwd, env)
        except AgentError as error:
            if error.error_type == "tooManyTerminals":
                raise TerminalRefused(str(error)) from error
            work = self._not_run(str(error))
        else:
            work = self._follow(self._shown)
        self._task = asyncio.ensure_future(work)

    async def wait(self) -> None:
        """Wait until the command has ended, however it ends."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def stop(self) -> None:
        """Begin to end the command and everything that it started."""
        if self._task is None or self._task.done() or self._is_stopped:
            return
        self._is_stopped = True
        if self._shown is not None:
            self._shown.end()
        else:
            self.signal = "SIGTERM"
            self._task.cancel()

    async def kill(self) -> None:
        """End the command and everything that it started."""
        self.stop()
        await self.wait()

    async def _follow(self, shown: AgentTerminal) -> None:
        try:
            end = self._end = await shown.wait()
        except asyncio.CancelledError:
            # It ends with the turn.
            self.signal = "SIGHUP"
            raise
        self._take_text(end.output)
        self._truncated = end.truncated
        self.exit_code = end.exit_code
        if self._is_stopped and end.exit_code is not None and end.exit_code > 128:
            with contextlib.suppress(ValueError):
                self.signal = signal.Signals(end.exit_code - 128).name
                self.exit_code = None

    async def _not_run(self, reason: str) -> None:
        self.exit_code = NOT_RUN
        await self._take(f"{reason}\n")

    async def _run_plain(self, cwd: str, env: Mapping[str, str]) -> None:
        try:
            result = await run_command(
                self._command, cwd=cwd, env=command_environment(env), on_output=self._take
            )
        except OSError as error:
            await self._not_run(f"the command cannot be run: {error.strerror}")
            return
        self.exit_code = result.exit_code
        self.output, self._truncated = result.output, result.truncated

    async def _take(self, text: str) -> None:
        output = self.output + text
        self.output = output[-MOST_OUTPUT:]
        self._truncated = self._truncated or len(output) > MOST_OUTPUT
        for listener in list(self.listeners):
            await listener()

    def _take_text(self, printed: str) -> None:
        self.output = plain_text(printed)
        self._truncated = self._truncated or len(printed) >= MOST_OUTPUT


class Terminals:
    """The terminals of one chat, by the ids that its agent knows."""

    def __init__(self) -> None:
        self._terminals: dict[str, Terminal] = {}

    async def create(
        self,
        turn: Turn,
        command: str,
        args: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        limit: int | None,
    ) -> str:
        """Start a command and return the terminal's id; without arguments it is a shell's line.

        It ends with its turn at the latest, unless somebody lets it go on in the background.
        """
        if len(self._terminals) >= MOST_TERMINALS:
            raise TerminalRefused("there are too many terminals; release some")
        id = f"term-{uuid.uuid4().hex[:12]}"
        terminal = Terminal(id, [command, *args] if args else command, limit)
        # Before it is waited for: several may be asked for at once.
        self._terminals[id] = terminal
        try:
            await terminal.start(turn, cwd, env)
        except BaseException:
            del self._terminals[id]
            raise
        return id

    def get(self, id: str) -> Terminal | None:
        """Return the terminal of that id."""
        return self._terminals.get(id)

    def forget(self, id: str) -> None:
        """Forget a terminal; its command is left alone."""
        del self._terminals[id]

    async def end_all(self) -> None:
        """End all commands and forget their terminals."""
        terminals = list(self._terminals.values())
        self._terminals.clear()
        for terminal in terminals:
            terminal.stop()
        for terminal in terminals:
            await terminal.wait()
