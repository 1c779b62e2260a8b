"""Work that an agent leaves running beside its turns, as the agent sees it.

The host lists it in the chat as long as it runs. It outlives the turn; the handle says when it has
ended, and how.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agenthost.agents.api import AgentError
from agenthost.agents.processes import CommandResult, command_environment, run_command
from agenthost.agents.sanitize import checked_action, valid_text
from agenthost.agents.terminal_run import (
    as_command_result,
    command_line,
    title_of,
    work_id_of,
)
from agenthost.agents.turn_port import TerminalsUnsupported

if TYPE_CHECKING:
    from agenthost.agents.turn_port import AgentTerminal, TurnPort

_T = TypeVar("_T")

# Characters of a label and of a command that people are shown.
LONGEST_LABEL = 200
LONGEST_COMMAND = 4096


class BackgroundWork(Generic[_T]):
    """Work that runs beside the turns of a chat until it ends, is stopped, or the chat goes."""

    def __init__(
        self, port: TurnPort, id: str, ended: asyncio.Future[Any], read: Callable[[Any], _T]
    ) -> None:
        self._port = port
        # How the chat's state calls it.
        self.id = id
        # Its end, and what of that is told.
        self._ended = ended
        self._read = read
        # Looked at, so that nobody complains of a failure that its agent does not ask for.
        ended.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return not self._ended.done()

    async def wait(self) -> _T:
        """Wait until it has ended and return what it gave; its failure is raised here.

        Raises AgentError when it was stopped.
        """
        await asyncio.wait({self._ended})
        if self._ended.cancelled():
            raise AgentError("the work was stopped", "stopped")
        return self._read(self._ended.result())

    async def stop(self) -> None:
        """Stop it; idempotent, and also after the turn."""
        await self._port.stop_work(self.id)


async def start_shell(
    port: TurnPort,
    label: str,
    command: str | Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str] | None,
    terminal: str | None,
    run: Callable[[], Awaitable[CommandResult]] | None,
) -> BackgroundWork[CommandResult]:
    """Run a command beside the turns of a chat, or list one that ``run`` sees through."""
    line = command_line(command)
    if run is None:
        try:
            opened = await port.open_terminal(
                command, title=title_of(line), tool_call_id=None, cwd=cwd, env=env
            )
        except TerminalsUnsupported:
            run = _running(command, cwd, env)
        else:
            return await leave_running(port, opened, label)
    id = port.new_id("work")
    work = checked_work({"id": id, **shell_work(label, line, terminal)})
    return BackgroundWork(port, id, await port.start_work(work, run), _as_it_is)


async def leave_running(
    port: TurnPort, terminal: AgentTerminal, label: str
) -> BackgroundWork[CommandResult]:
    """Let a command in a terminal go on after its turn; one that may not is ended."""
    try:
        ended = await terminal.run_on(label)
    except AgentError:
        await terminal.kill()
        raise
    return BackgroundWork(port, work_id_of(terminal.uri), ended, as_command_result)


def _running(
    command: str | Sequence[str], cwd: str | None, env: Mapping[str, str] | None
) -> Callable[[], Awaitable[CommandResult]]:
    async def run_it() -> CommandResult:
        try:
            return await run_command(command, cwd=cwd, env=command_environment(env))
        except OSError as error:
            raise AgentError(f"the command cannot be run: {error.strerror}", "notRun") from error

    return run_it


def _as_it_is(ended: Any) -> Any:
    return ended


def shell_work(label: str, command: str, terminal: str | None = None) -> dict[str, Any]:
    """Describe a command that runs on, perhaps in a terminal that people can follow."""
    work = {
        "kind": "shell",
        "label": _clipped(label, LONGEST_LABEL),
        "command": _clipped(command, LONGEST_COMMAND),
    }
    return work if terminal is None else {**work, "terminal": terminal}


def checked_work(work: dict[str, Any]) -> dict[str, Any]:
    """Check the description of a work, which gets its time from the host."""
    timed = {**work, "startedAt": ""}
    checked: dict[str, Any] = checked_action({"type": "chat/backgroundWorkSet", "work": timed})
    return {key: value for key, value in checked["work"].items() if key != "startedAt"}


def _clipped(text: str, most: int) -> str:
    fit = valid_text(text)
    return fit if len(fit) <= most else f"{fit[: most - 1]}…"
