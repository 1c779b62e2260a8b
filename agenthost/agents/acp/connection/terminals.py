"""Commands that an agent lets the host run: real child processes, bounded, ended on request.

Runs them through ``agenthost.agents.processes``, the one seam for commands.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence

from agenthost.agents.processes import MOST_OUTPUT, command_environment, run_command
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
        # The end of what it printed, and whether that is not all.
        self.output = ""
        self._truncated = False
        # How it ended: an exit code, or the name of the signal with which the host ended it.
        self.exit_code: int | None = None
        self.signal: str | None = None
        # Called whenever there is more output.
        self.listeners: list[Listener] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the command has ended."""
        return self._task is not None and self._task.done()

    def limited(self) -> tuple[str, bool]:
        """Return the output within the agent's limit, and whether that is not all of it."""
        data = self.output.encode()
        if self._limit is None or len(data) <= self._limit:
            return self.output, self._truncated
        kept = data[len(data) - self._limit :]
        # The cut may go through a character.
        return kept.decode(errors="ignore"), True

    def start(self, cwd: str, env: Mapping[str, str]) -> None:
        """Start the command."""
        self._task = asyncio.create_task(self._run(cwd, env), name=f"run {self._command!r}")

    async def wait(self) -> None:
        """Wait until the command has ended, however it ends."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def stop(self) -> None:
        """Begin to end the command and everything that it started."""
        if self._task is not None and not self._task.done() and self.signal is None:
            self.signal = "SIGTERM"
            self._task.cancel()

    async def kill(self) -> None:
        """End the command and everything that it started."""
        self.stop()
        await self.wait()

    async def _run(self, cwd: str, env: Mapping[str, str]) -> None:
        try:
            result = await run_command(
                self._command, cwd=cwd, env=command_environment(env), on_output=self._take
            )
        except OSError as error:
            self.exit_code = NOT_RUN
            await self._take(f"the command cannot be run: {error.strerror}\n")
            return
        self.exit_code = result.exit_code
        self.output, self._truncated = result.output, result.truncated

    async def _take(self, text: str) -> None:
        output = self.output + text
        self.output = output[-MOST_OUTPUT:]
        self._truncated = self._truncated or len(output) > MOST_OUTPUT
        for listener in list(self.listeners):
            await listener()


class Terminals:
    """The terminals of one chat, by the ids that its agent knows."""

    def __init__(self) -> None:
        self._terminals: dict[str, Terminal] = {}

    def create(
        self,
        command: str,
        args: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        limit: int | None,
    ) -> str:
        """Start a command and return the terminal's id; without arguments it is a shell's line."""
        if len(self._terminals) >= MOST_TERMINALS:
            raise TerminalRefused("there are too many terminals; release some")
        id = f"term-{uuid.uuid4().hex[:12]}"
        terminal = Terminal(id, [command, *args] if args else command, limit)
        self._terminals[id] = terminal
        terminal.start(cwd, env)
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
