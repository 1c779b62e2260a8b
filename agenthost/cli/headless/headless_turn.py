"""One turn without a person: send a prompt, answer what is asked by rule, follow it to its end.

Owns the decisions of one turn, its workers' included, and what may stop it: signals and a timeout.
What the rules say is ``auto_answers``'s; what became of the turn is for the caller to judge.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from agenthost.cli.exit_codes import FAILED
from agenthost.cli.format.event_format import tool_change_line
from agenthost.cli.format.state_format import only_question, question_lines, tool_line, usage_line
from agenthost.cli.format.terminal_text import one_line, text_lines
from agenthost.cli.headless.answer_output import Output
from agenthost.cli.headless.auto_answers import ApprovalPolicy, GivenAnswers, chat_and_workers
from agenthost.cli.headless.tool_progress import ToolProgress
from agenthost.client import (
    ChannelGone,
    Chat,
    ChatEvent,
    Client,
    ConfirmationNeeded,
    DispatchFailed,
    PartAdded,
    Question,
    Reasoning,
    Redrawn,
    Rejected,
    Session,
    Text,
    ToolCallChanged,
    TurnEnded,
    TurnStream,
    UsageReported,
    actions,
)
from agenthost.client.chat import ChatFeed, before_turn
from agenthost.errors import AgentHostError
from agenthost.protocol.chat.active_turn import find_request, find_tool_call
from agenthost.protocol.markdown import markdown_of
from agenthost.tasks import Tasks

Json = Mapping[str, Any]

# Seconds that a turn may take to end after it was cancelled.
_GRACE = 5.0

# Attempts to tell a decision across lost connections; the host takes no more than one of them.
_MOST_TRIES = 3


class HeadlessTurn:
    """One turn from its prompt to its end."""

    def __init__(
        self,
        client: Client,
        session: Session,
        chat: Chat,
        approvals: ApprovalPolicy,
        answers: GivenAnswers,
        out: Output,
    ) -> None:
        self._client = client
        self._session = session
        self._chat = chat
        self._approvals = approvals
        self._answers = answers
        self._out = out
        self.turn_id = ""
        # How the turn ended; None if that is not known.
        self.end: TurnEnded | None = None
        # The exit code of what stopped the turn from here: a signal, or the timeout.
        self.stop_code: int | None = None
        # Whether an approval was withheld.
        self.denied = False
        # Whether an answer was given that is none.
        self.bad_answer = False
        self._progress = ToolProgress(client, out)
        self._tasks = Tasks(self._on_task_failure)

    async def send(
        self, text: str, *, model: str | None, agent: str | None = None, timeout: float | None
    ) -> None:
        """Send a prompt and follow its turn."""
        await self._run(self._chat.send(text, model=model, agent=agent), timeout)

    async def resume(self, *, timeout: float | None) -> None:
        """Go on with the last turn, which failed, and follow it.

        Raises:
            LookupError: there is no turn that can be resumed.
        """
        await self._run(self._chat.resume(), timeout)

    async def _run(self, stream: TurnStream, timeout: float | None) -> None:
        self.turn_id = stream.turn_id
        self._tasks.start(self._follow_workers(), "follow workers")
        try:
            with self._stopping(timeout):
                await self._follow(stream)
        except BrokenPipeError:
            await self._cancel_unread()
            raise
        finally:
            await self._progress.close()
            await self._tasks.close()
        self._out.end()

    async def _cancel_unread(self) -> None:
        """Cancel the turn because nobody reads its output any more."""
        dispatch = self._chat.cancel()
        if dispatch is not None:
            with contextlib.suppress(AgentHostError, TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await dispatch

    async def _follow(self, stream: TurnStream) -> None:
        try:
            async for event in stream:
                self._print_event(event)
                await self._tell_progress(event)
                await self._answer_prompts(self._chat, event)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self.stop_code is None or task is None:
                raise
            task.uncancel()
            self._out.warn("the host has not confirmed that the turn is cancelled")

    def _print_event(self, event: ChatEvent) -> None:
        """Print an event of the turn."""
        out = self._out
        match event:
            case Text(part_id=part_id, text=text):
                out.write(part_id, text)
            case Reasoning(text=text):
                out.think(text)
            case ToolCallChanged(call=call, before=before):
                self._print_call(call, before)
            case PartAdded(part=part) if part["kind"] == "systemNotification":
                out.note("\n".join(text_lines(markdown_of(part["content"]))), "yellow")
            case UsageReported(usage=usage) if out.verbose:
                out.note(usage_line(usage), "dim")
            case Redrawn(parts=parts):
                out.rewrite(parts)
            case TurnEnded():
                self.end = event

    def _print_call(self, call: Json, before: Json | None) -> None:
        line = tool_change_line(call, before)
        if line is None:
            return
        self._out.note(line.text, line.style)
        if call["status"] == "completed" and _is_own_command(call):
            # Whoever sends a command wants what it prints: that is the answer.
            texts = [block["text"] for block in call["content"] if block["type"] == "text"]
            self._out.write(call["toolCallId"], "".join(texts))

    async def _tell_progress(self, event: ChatEvent) -> None:
        if isinstance(event, ToolCallChanged) and not _is_own_command(event.call):
            is_news = tool_change_line(event.call, event.before) is not None
            await self._progress.tell(event.call, is_news=is_news)

    # Workers.

    async def _follow_workers(self) -> None:
        """Follow the turn's worker chats, to answer their approvals and questions too."""
        seen = {self._chat.uri}
        with contextlib.suppress(ChannelGone):
            async for state in self._session.channel:
                for uri in chat_and_workers(state["chats"], self._chat.uri) - seen:
                    seen.add(uri)
                    self._tasks.start(self._follow_worker(uri), f"follow {uri}")

    async def _follow_worker(self, uri: str) -> None:
        with contextlib.suppress(ChannelGone):
            chat = await self._session.chat(uri, turns=1)
            async for event in ChatFeed(chat.channel, before_turn(chat.channel.confirmed)):
                await self._answer_prompts(chat, event)

    def _on_task_failure(self, error: Exception) -> None:
        self._out.warn(f"a worker chat is not watched any more ({error}); it may wait for approval")

    # Deciding.

    async def _answer_prompts(self, chat: Chat, event: ChatEvent) -> None:
        """Answer an approval or question if it is still open."""
        match event:
            case ConfirmationNeeded(turn_id=turn_id, call=call) if _waits(chat, call):
                await self._decide(chat, turn_id, call)
            case Question(request=request) if _is_open(chat, request):
                await self._answer(chat, request)
            case ToolCallChanged(turn_id=turn_id, call=call, before=before):
                was = None if before is None else before["status"]
                if call["status"] == "auth-required" != was:
                    await self._refuse_sign_in(chat, turn_id, call)

    async def _decide(self, chat: Chat, turn_id: str, call: Json) -> None:
        allowed = self._approvals.allow(call)
        what = "the result of " if call["status"] == "pending-result-confirmation" else ""
        verdict = "approved" if allowed else "denied"
        how = "" if allowed else f" (--approve tool={one_line(call['toolName'])} would allow it)"
        self._out.note(f"{verdict}: {what}{tool_line(call)}{how}", "green" if allowed else "red")
        self.denied = self.denied or not allowed
        await self._dispatch(chat, self._approvals.decide(turn_id, call))

    async def _answer(self, chat: Chat, request: Json) -> None:
        if request.get("message") and only_question(request) is None:
            self._out.note(f"? {one_line(request['message'])}", "cyan")
        for question in request.get("questions") or ():
            self._out.note("\n".join(f"? {row}" for row in question_lines(question)), "cyan")
        reply = self._answers.reply(request)
        self.bad_answer = self.bad_answer or reply.is_bad_answer
        if reply.problem:
            self._out.note(f"declined: {reply.problem}", "yellow")
        if not await self._dispatch(chat, reply.action) and _is_open(chat, request):
            self.bad_answer = True
            await self._dispatch(chat, actions.input_completed(request["id"], "decline"))

    async def _refuse_sign_in(self, chat: Chat, turn_id: str, call: Json) -> None:
        self._out.note(f"denied: a sign-in for {tool_line(call)}", "red")
        self.denied = True
        error = {"message": "nobody is there to sign in", "code": "cancelled"}
        result = {"success": False, "pastTenseMessage": "Not signed in", "error": error}
        await self._dispatch(chat, actions.completion(turn_id, call["toolCallId"], result))

    async def _dispatch(self, chat: Chat, action: Json) -> bool:
        """Dispatch a decision; False if the host rejects it."""
        lost: DispatchFailed | None = None
        for _ in range(_MOST_TRIES):
            try:
                await self._client.dispatch(chat.uri, action)
            except Rejected as error:
                # Somebody was faster: this one itself, if an answer was lost.
                if lost is None:
                    self._out.note(f"not taken: {error.reason}", "yellow")
                return lost is not None
            except DispatchFailed as error:
                lost = error
            else:
                return True
        assert lost is not None
        raise lost

    # Stopping.

    @contextlib.contextmanager
    def _stopping(self, timeout: float | None) -> Iterator[None]:
        """Cancel the turn on signals and on timeout, for the length of a block."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        timers: list[asyncio.TimerHandle] = []

        def stop(code: int, why: str) -> None:
            if self.stop_code is not None:
                task.cancel()
                return
            self.stop_code = code
            self._chat.cancel()
            timers.append(loop.call_later(_GRACE, task.cancel))
            # Last: a terminal that was closed takes nothing more, and raises.
            self._out.warn(why)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop, 128 + number, "interrupted: cancelling the turn")
        if timeout is not None:
            why = f"the turn has not ended within {timeout:g} s: cancelling it"
            timers.append(loop.call_later(timeout, stop, FAILED, why))
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def _waits(chat: Chat, call: Json) -> bool:
    """Return whether a tool call is still waiting as it was."""
    found = find_tool_call(chat.state, call["toolCallId"])
    return found is not None and found["status"] == call["status"]


def _is_open(chat: Chat, request: Json) -> bool:
    """Return whether a request is still unanswered."""
    return find_request(chat.state, request["id"], answered=False) is not None


def _is_own_command(call: Json) -> bool:
    """Say whether a call runs a message that began with the host's prefix for commands."""
    return (call.get("_meta") or {}).get("shellTurn") is True
