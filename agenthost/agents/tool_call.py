"""One tool call, as its agent sees it: announced, perhaps approved, run, and always ended.

Each method is one step of the protocol's tool-call table; whatever the agent forgets, leaving the
``async with`` block brings the call to an end.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, get_args

from agenthost.agents import content as contents
from agenthost.agents.api import AgentError, agent_message
from agenthost.agents.approval_options import (
    ALLOW_IN_SESSION,
    check_options,
    standard_options,
    without_remembering,
)
from agenthost.agents.approvals import Confirmation, prompt_fields
from agenthost.agents.background_work import BackgroundWork, checked_work, leave_running
from agenthost.agents.processes import CommandResult, command_environment, run_command
from agenthost.agents.sanitize import emit, json_copy, text_pieces, valid_text
from agenthost.agents.terminal_run import (
    TerminalRun,
    command_line,
    plain_text,
    shown_result,
    title_of,
)
from agenthost.agents.turn_port import (
    AgentTerminal,
    Interactivity,
    TerminalEnd,
    TerminalsUnsupported,
    TurnPort,
    Worker,
)
from agenthost.protocol.chat.active_turn import find_tool_call
from agenthost.protocol.markdown import markdown_of

# Partial content is resent as a whole, so it is kept short while a call runs.
MOST_LIVE_TEXT = 16 * 1024
# A larger result travels as a reference.
MOST_INLINE_RESULT = 64 * 1024
_NOT_ENTERED = "the agent made a mistake: a tool call is used with async with turn.tool(…) as call"


class ToolCall:
    """A tool call in progress; use it with ``async with``."""

    def __init__(
        self,
        port: TurnPort,
        turn_id: str,
        name: str,
        *,
        input: Any = None,
        display_name: str | None = None,
        intention: str | None = None,
        invocation: str | None = None,
        contributor: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self._port = port
        self._turn_id = turn_id
        self.id = port.new_id("call")
        self.name = name
        self._display_name = display_name or name
        self._intention = intention
        self._invocation = invocation or self._display_name
        self._contributor = contributor
        self._meta = meta
        self._input = _as_text(input)
        # Whether people have been shown that there is this call.
        self._announced = False
        # Partial content: text written so far, and other blocks shown so far.
        self._live_text = ""
        self._blocks: Sequence[Mapping[str, Any]] = ()

    async def __aenter__(self) -> Self:
        start: dict[str, Any] = {"toolName": self.name, "displayName": self._display_name}
        more = {"intention": self._intention, "contributor": self._contributor, "_meta": self._meta}
        start |= {name: value for name, value in more.items() if value is not None}
        self._announced = True
        # Nothing is awaited here: cancelled in between, nobody would end the call.
        self._emit("chat/toolCallStart", **start)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc, asyncio.CancelledError):
            # Of a turn that is over the host has ended everything; here only this call may be.
            self._give_up("it was cancelled", "cancelled")
        elif exc is not None:
            self._give_up(str(agent_message(exc) or f"it failed ({type(exc).__name__})"))
        elif self.status in ("streaming", "running"):
            await self.complete()
        else:
            self._give_up("nobody waits for an answer any more")

    @property
    def state(self) -> Mapping[str, Any]:
        """The call as the chat's state has it."""
        found = find_tool_call(self._port.state, self.id)
        if found is None:
            raise asyncio.CancelledError("the turn of this tool call is over")
        return found

    @property
    def status(self) -> str:
        """The call's status, such as running or completed."""
        found = find_tool_call(self._port.state, self.id)
        return "cancelled" if found is None else str(found["status"])

    async def stream_input(self, text: str) -> None:
        """Show parameters while they are still being made."""
        for piece in text_pieces(text):
            self._emit("chat/toolCallDelta", content=piece)
            await self._port.flow()

    async def start(
        self, input: Any = None, *, invocation: str | None = None, by_setting: bool = False
    ) -> None:
        """Begin to run without asking anybody: it is harmless, or a setting allows it."""
        fields: dict[str, Any] = {"confirmed": "setting" if by_setting else "not-needed"}
        if by_setting:
            fields["_meta"] = {**(self._meta or {}), "autoApproveBySetting": True}
        self._ready(input, invocation, **fields)
        await self._port.flow()

    async def confirm(
        self,
        title: str | None = None,
        *,
        input: Any = None,
        invocation: str | None = None,
        options: Sequence[Mapping[str, Any]] | None = None,
        editable: bool = False,
        edits: Sequence[Mapping[str, Any]] | None = None,
        risk: Mapping[str, Any] | None = None,
        rememberable: bool = True,
    ) -> Confirmation:
        """Ask for approval and wait for the first answer; also again while the call runs.

        Without ``options`` the usual four are offered; an empty list offers plain yes and no.
        ``rememberable`` lets "allow in this session" answer for later calls of the same tool.
        """
        if rememberable and self._port.is_allowed(self.name):
            self._ready(input, invocation, confirmed="setting")
            await self._port.flow()
            return self._read_answer()
        shown = standard_options(self._port.locale) if options is None else list(options)
        if not rememberable:
            shown = without_remembering(shown)
        check_options(shown)
        fields: dict[str, Any] = {"options": shown} if shown else {}
        if editable:
            fields["editable"] = True
        self._ready(input, invocation, **fields, **prompt_fields(title, edits, risk))
        if not await self._left("pending-confirmation"):
            self._give_up("nobody answered in time")
        return self._read_answer()

    async def update_confirmation(
        self,
        title: str | None = None,
        *,
        invocation: str | None = None,
        risk: Mapping[str, Any] | None = None,
    ) -> bool:
        """Say more about a call while ``confirm`` waits for people in another task.

        What is not given stays, and so does what they approve: clients of old versions are not
        shown any change. Without effect, and False, once the question is answered.
        """
        if self.status != "pending-confirmation":
            return False
        self._ready(None, invocation, **prompt_fields(title, None, risk))
        await self._port.flow()
        return True

    async def write(self, text: str) -> None:
        """Show output while the call runs; of a long one, the newest part."""
        await self._show((self._live_text + valid_text(text))[-MOST_LIVE_TEXT:], self._blocks)

    async def show(self, *content: Mapping[str, Any]) -> None:
        """Show further content while the call runs."""
        await self._show(self._live_text, [*self._blocks, *content])

    async def replace(self, *content: Mapping[str, Any]) -> None:
        """Show this content instead of all that was written and shown so far."""
        await self._show("", content)

    async def complete(
        self,
        message: str | None = None,
        content: Sequence[Mapping[str, Any]] | None = None,
        *,
        structured: Mapping[str, Any] | None = None,
    ) -> None:
        """End the call with success; without ``content``, what was shown is the result."""
        self._finish(self._result(True, message, content, structured))
        await self._port.flow()

    async def fail(self, reason: str, *, code: str | None = None) -> None:
        """End the call with failure."""
        self._fail(reason, code)
        await self._port.flow()

    async def review(
        self, message: str | None = None, content: Sequence[Mapping[str, Any]] | None = None
    ) -> bool:
        """End the call with success and wait until people approve of the result, or do not.

        Where only clients are attached that cannot ask for it, the result is shown and passes.
        """
        result = self._result(True, message, content, None)
        if not self._port.can_show_reviews:
            self._finish(result)
            await self._port.flow()
            return True
        self._finish(result, requiresResultConfirmation=True)
        if not await self._left("pending-result-confirmation"):
            self._give_up("nobody answered in time")
        return self.status == "completed"

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

    def _read_answer(self) -> Confirmation:
        state = self.state
        option = (state.get("selectedOption") or {}).get("id")
        if state["status"] not in ("running", "cancelled"):
            raise AgentError(f"{self._display_name} has ended and cannot be approved", "callEnded")
        if state["status"] == "running":
            if option == ALLOW_IN_SESSION:
                self._port.allow(self.name)
            given = state.get("toolInput")
            self._input = given if isinstance(given, str) else self._input
            return Confirmation(True, self._input, option)
        said, suggestion = state.get("reasonMessage"), state.get("userSuggestion") or {}
        return Confirmation(
            False,
            self._input,
            option,
            reason=state["reason"],
            reason_message=markdown_of(said) if said is not None else None,
            suggestion=suggestion.get("text"),
        )

    async def _begin(self) -> None:
        """Make sure that the call runs; AgentError if it was not approved."""
        if self.status == "streaming":
            await self.start()
        if self.status != "running":
            raise AgentError(f"{self._display_name} was not approved", "notApproved")

    async def _left(self, *statuses: str) -> bool:
        """Wait until the call has another status; False when that takes people too long."""

        def left(state: Mapping[str, Any]) -> bool | None:
            call = find_tool_call(state, self.id)
            return True if call is not None and call["status"] not in statuses else None

        try:
            async with asyncio.timeout(self._port.prompt_timeout):
                return await self._port.wait_for(left)
        except TimeoutError:
            return False

    def _give_up(self, reason: str, code: str | None = None) -> None:
        """End the call, whatever it waits for; one that has ended takes no notice."""
        match self.status:
            case "pending-confirmation":
                skipped = {"approved": False, "reason": "skipped", "reasonMessage": reason}
                self._emit("chat/toolCallConfirmed", **skipped)
            case "pending-result-confirmation":
                self._emit("chat/toolCallResultConfirmed", approved=False)
            case "streaming" | "running":
                self._fail(reason, code)

    def _fail(self, reason: str, code: str | None) -> None:
        result = self._result(False, f"{self._display_name} failed", None, None)
        result["error"] = {"message": reason} if code is None else {"message": reason, "code": code}
        self._finish(result)

    def _ready(self, input: Any, invocation: str | None, **fields: Any) -> None:
        if input is not None:
            self._input = _as_text(input)
        self._invocation = invocation or self._invocation
        self._live_text, self._blocks = "", ()
        if self._input is not None:
            fields["toolInput"] = self._input
        self._emit("chat/toolCallReady", invocationMessage=self._invocation, **fields)

    def _announce_terminal(self, terminal: AgentTerminal) -> Sequence[Mapping[str, Any]]:
        """Show the terminal in which the call runs; return what was shown besides."""
        others = _content(self._live_text, self._blocks)
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

    def _finish(self, result: dict[str, Any], **fields: Any) -> None:
        if self.status == "streaming":
            # A call cannot end before its parameters are complete.
            self._ready(None, None, confirmed="not-needed")
        self._emit("chat/toolCallComplete", result=result, **fields)

    def _result(
        self,
        success: bool,
        message: str | None,
        content: Sequence[Mapping[str, Any]] | None,
        structured: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        shown = _content(self._live_text, self._blocks) if content is None else list(content)
        result: dict[str, Any] = {
            "success": success,
            "pastTenseMessage": message or f"Used {self._display_name}",
        }
        if shown:
            result["content"] = shown
        if structured is not None:
            result["structuredContent"] = dict(structured)
        return result

    async def _show(self, text: str, blocks: Sequence[Mapping[str, Any]]) -> None:
        blocks = json_copy(blocks)
        self._emit("chat/toolCallContentChanged", content=_content(text, blocks))
        # Only now: what was refused must not come back with the result.
        self._live_text, self._blocks = text, blocks
        await self._port.flow()

    def _emit(self, action_type: str, **fields: Any) -> None:
        if not self._announced:
            raise AgentError(_NOT_ENTERED, "badAction")
        target = {"turnId": self._turn_id, "toolCallId": self.id}
        emit(self._port, {"type": action_type, **target, **fields})


def _content(text: str, blocks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [contents.text(text), *blocks] if text else list(blocks)


def _took_too_long(timeout: float | None) -> str:
    return f"the command took longer than {timeout:g} seconds"


def _as_text(input: Any) -> str | None:
    if input is None or isinstance(input, str):
        return input
    return json.dumps(json_copy(input), ensure_ascii=False)


def _check_interactivity(interactivity: str) -> None:
    if interactivity not in get_args(Interactivity):
        known = " and ".join(get_args(Interactivity))
        raise AgentError(
            f"the agent made a mistake: a worker is {known}, not {interactivity}", "badAction"
        )
