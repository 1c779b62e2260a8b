"""One tool call, as its agent sees it: its steps, and what may run in it.

Commands, in a terminal or without, edits of files, workers, and tools of clients; how a call is
announced, approved and ended is in ``tool_call_steps``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from agenthost.agents import content as contents
from agenthost.agents.api import AgentError
from agenthost.agents.background_work import BackgroundWork, checked_work, leave_running
from agenthost.agents.file_edit import Denied, Edited, edit_file
from agenthost.agents.folders import Folders
from agenthost.agents.processes import CommandResult, command_environment, run_command
from agenthost.agents.sanitize import valid_text
from agenthost.agents.terminal_run import (
    TerminalRun,
    command_line,
    plain_text,
    shown_result,
    title_of,
)
from agenthost.agents.tool_call_steps import MOST_LIVE_TEXT, ToolCallSteps, content_of
from agenthost.agents.turn_port import (
    AgentTerminal,
    Interactivity,
    TerminalEnd,
    TerminalsUnsupported,
    Worker,
)

# A larger result travels as a reference.
MOST_INLINE_RESULT = 64 * 1024


class ToolCall(ToolCallSteps):
    """A tool call in progress; use it with ``async with``."""

    async def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Run a command as a child process, its output shown while it runs, and end the call.

        Without ``env`` it sees the host's environment without its secrets.

        Raises:
            TimeoutError: it took longer than ``timeout``; the call has failed.
            AgentError: it cannot be run, or the call was not approved.
        """
        await self._begin()
        try:
            result = await run_command(
                command, cwd=cwd, env=env, on_output=self.write, timeout=timeout
            )
        except TimeoutError:
            await self.fail(_took_too_long(timeout), code="timeout")
            raise
        except OSError as error:
            await self.fail(f"the command cannot be run: {error.strerror}", code="notRun")
            raise AgentError(f"the command cannot be run: {error.strerror}") from error
        await self._end_command(result)
        return result

    async def run_in_terminal(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        background: bool = False,
    ) -> TerminalRun:
        """Run a command in a terminal that people can watch and type into, and end the call.

        A shell's line, or a program with its arguments; in the session's folder, without ``cwd``.
        ``env`` is added to the host's environment without its secrets.
        With ``background`` the call ends at once and the command runs on beside the chat's turns,
        as it does when somebody lets it: see ``TerminalRun.background``. All others end with their
        turn. Where the host has no terminals the command runs as with ``run``.

        Raises:
            TimeoutError: it took longer than ``timeout`` and was ended; the call has failed.
            AgentError: it cannot be run, there are too many, or the call was not approved.
        """
        await self._begin()
        line = command_line(command)
        try:
            terminal = await self._port.open_terminal(
                command, title=title_of(line), tool_call_id=self.id, cwd=cwd, env=env
            )
        except TerminalsUnsupported:
            plain = None if env is None else command_environment(env)
            result = await self.run(command, cwd=cwd, env=plain, timeout=timeout)
            return TerminalRun(None, result.exit_code, result.output, result.truncated)
        except AgentError as error:
            await self.fail(str(error), code=error.error_type)
            raise
        # Before anything is awaited: whoever is shown the call can be shown its terminal.
        blocks = self._announce_terminal(terminal)
        if background:
            return await self._leave_running(terminal, line, blocks)
        try:
            async with asyncio.timeout(timeout):
                end = await terminal.wait()
        except TimeoutError:
            await terminal.kill()
            failure = {"message": _took_too_long(timeout), "code": "timeout"}
            await self._end_in_terminal(terminal, await terminal.wait(), blocks, failure)
            raise
        except asyncio.CancelledError:
            # It ends with the call, so the call must not say that it goes on.
            self._blocks = [*blocks, contents.terminal(terminal.uri, terminal.title, {})]
            terminal.end()
            raise
        if end.detached:
            return await self._leave_running(terminal, line, blocks)
        return await self._end_in_terminal(terminal, end, blocks)

    async def edit(
        self,
        path: str | os.PathLike[str],
        new_text: str | None,
        *,
        title: str | None = None,
        options: Sequence[Mapping[str, Any]] | None = None,
    ) -> Edited | Denied:
        """Write a file, or with None delete it, after showing the change and asking; end the call.

        ``path`` is relative to the first of the session's folders, or absolute in one of them. What
        comes back is true if the file is as it should be. Sessions that let edits pass do not ask,
        and nobody is asked for an edit that changes nothing.

        Raises:
            AgentError: the file is outside of the folders, cannot be used as text, is not there to
                be deleted, or has changed while people were asked.
        """
        folders, name = Folders(self._folders), os.fspath(path)
        return await edit_file(
            self, self._port, folders, name, new_text, title=title, options=options
        )

    async def delegate(
        self,
        text: str,
        *,
        title: str,
        agent_name: str | None = None,
        description: str | None = None,
        interactivity: Interactivity = "read-only",
    ) -> Worker:
        """Let a worker chat of the same agent answer ``text``, and end the call with its answer.

        ``agent_name`` and ``description`` say who works there, and at what.
        """
        _check_interactivity(interactivity)
        await self._begin()

        def announce(chat: str) -> None:
            self._announce_worker(chat, title, agent_name, description)

        worker = await self._port.run_worker(
            valid_text(text),
            title=valid_text(title),
            tool_call_id=self.id,
            interactivity=interactivity,
            announce=announce,
        )
        if worker.state == "complete":
            await self.complete(f"{title} is done", [*self._blocks, contents.text(worker.text)])
        else:
            await self.fail(worker.error or f"the worker was {worker.state}")
        return worker

    async def delegate_in_background(
        self,
        text: str,
        *,
        title: str,
        agent_name: str | None = None,
        description: str | None = None,
        interactivity: Interactivity = "read-only",
    ) -> BackgroundWork[Worker]:
        """Let a worker chat answer ``text`` beside the turns of this one, and end the call now.

        The worker is listed in the chat until it is done; see ``Turn.background_worker``.
        """
        _check_interactivity(interactivity)
        await self._begin()

        def announce(chat: str) -> None:
            self._announce_worker(chat, title, agent_name, description)

        id = self._port.new_id("work")
        work = checked_work({"kind": "subagent", "id": id, "label": title, "chat": ""})
        ended = await self._port.start_worker(
            valid_text(text),
            work,
            title=valid_text(title),
            tool_call_id=self.id,
            interactivity=interactivity,
            announce=announce,
        )
        await self.complete(f"{title} works in the background", self._blocks)
        return BackgroundWork(self._port, id, ended, lambda worker: worker)

    async def wait_for_owner(self, timeout: float | None) -> Mapping[str, Any]:
        """Wait until the client that owns this call has run it; give up when the time is up."""
        await self.start()
        try:
            async with asyncio.timeout(timeout):
                # The owner may want its result to be approved.
                ended = await self._left("running", "pending-result-confirmation")
        except TimeoutError:
            ended = False
        if not ended:
            self._give_up("the client did not answer in time", "timeout")
        return self.state

    def _announce_worker(
        self, chat: str, title: str, agent_name: str | None, description: str | None
    ) -> None:
        block = contents.subagent(chat, title, agent_name=agent_name, description=description)
        self._blocks = [*self._blocks, block]
        told = {"subagentDescription": description or title, "subagentChatUri": chat}
        if agent_name is not None:
            told["subagentAgentName"] = agent_name
        meta = {**(self._meta or {}), "toolKind": "subagent", **told}
        self._emit("chat/toolCallContentChanged", content=self._blocks, _meta=meta)

    async def _begin(self) -> None:
        """Make sure that the call runs; AgentError if it was not approved."""
        if self.status == "streaming":
            await self.start()
        else:
            # It may have been approved a while ago.
            await self._port.may_act()
        if self.status != "running":
            raise AgentError(f"{self._display_name} was not approved", "notApproved")

    def _announce_terminal(self, terminal: AgentTerminal) -> Sequence[Mapping[str, Any]]:
        """Show the terminal in which the call runs; return what was shown besides."""
        others = content_of(self._live_text, self._blocks)
        self._live_text = ""
        self._blocks = [*others, contents.terminal(terminal.uri, terminal.title)]
        meta = self.state.get("_meta") or {}
        more = {} if "toolKind" in meta else {"_meta": {**meta, "toolKind": "terminal"}}
        self._emit("chat/toolCallContentChanged", content=self._blocks, **more)
        return others

    async def _leave_running(
        self, terminal: AgentTerminal, line: str, blocks: Sequence[Mapping[str, Any]]
    ) -> TerminalRun:
        """End the call of a command that goes on."""
        try:
            work = await leave_running(self._port, terminal, line)
        except AgentError as error:
            failure = {"message": str(error), "code": error.error_type}
            await self._end_in_terminal(terminal, await terminal.wait(), blocks, failure)
            raise
        await self.complete("The command runs in the background", self._blocks)
        output = plain_text(await terminal.output())
        return TerminalRun(terminal.uri, None, output, truncated=False, background=work)

    async def _end_in_terminal(
        self,
        terminal: AgentTerminal,
        end: TerminalEnd,
        blocks: Sequence[Mapping[str, Any]],
        failure: Mapping[str, str] | None = None,
    ) -> TerminalRun:
        """End the call of a command that has ended, or had to be."""
        block = contents.terminal(terminal.uri, terminal.title, shown_result(end))
        output = plain_text(end.output)
        run = TerminalRun(terminal.uri, end.exit_code, output, end.truncated)
        if failure is None and end.exit_code is None:
            failure = {"message": "the command was ended, and nobody knows how"}
        await self._end_command(run, [*blocks, block], failure)
        return run

    async def _end_command(
        self,
        result: CommandResult | TerminalRun,
        blocks: Sequence[Mapping[str, Any]] = (),
        failure: Mapping[str, str] | None = None,
    ) -> None:
        shown = [*blocks, *await self._as_content(result.output)]
        structured = {"exitCode": result.exit_code, "truncated": result.truncated}
        if result.exit_code == 0 and failure is None:
            await self.complete("Ran the command", shown, structured=structured)
            return
        failed = self._result(False, "The command failed", shown, structured)
        failed["error"] = failure or {"message": f"exit code {result.exit_code}"}
        self._finish(failed)
        await self._port.flow()

    async def _as_content(self, output: str) -> list[Mapping[str, Any]]:
        """Return a command's output as content: a long one by reference, with its end shown."""
        if len(output) <= MOST_INLINE_RESULT:
            return [contents.text(output)]
        ref = await self._port.store_content(output.encode(), "text/plain")
        return [contents.text(output[-MOST_LIVE_TEXT:]), contents.resource(ref)]


def _took_too_long(timeout: float | None) -> str:
    return f"the command took longer than {timeout:g} seconds"


def _check_interactivity(interactivity: str) -> None:
    if interactivity not in get_args(Interactivity):
        known = " and ".join(get_args(Interactivity))
        raise AgentError(
            f"the agent made a mistake: a worker is {known}, not {interactivity}", "badAction"
        )
