"""A turn with nobody there: followed to its end, its questions answered by rules given before.

Owns the decisions of one turn, its workers' included, and what may stop it: signals and a timeout.
What the rules say is ``deciding``'s; what became of the turn is for the caller to judge.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from agenthost.cli.connecting import FAILED
from agenthost.cli.deciding import Answers, Approvals, family
from agenthost.cli.output import Output
from agenthost.cli.render import (
    markdown_of,
    one_line,
    plain,
    question_line,
    tool_line,
    tool_output,
    tool_style,
    tool_word,
    usage_line,
)
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

__all__ = ["Unattended"]

Json = Mapping[str, Any]

# Seconds that a turn may take to end after it was cancelled.
_GRACE = 5.0

# Attempts to tell a decision across lost connections; the host takes no more than one of them.
_MOST_TRIES = 3


class Unattended:
    """One turn from its prompt to its end."""

    def __init__(
        self,
        client: Client,
        session: Session,
        chat: Chat,
        approvals: Approvals,
        answers: Answers,
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
        self.stopped: int | None = None
        # Whether an approval was withheld.
        self.denied = False
        # Whether an answer was given that is none.
        self.misfit = False
        # What workers asked for and was decided.
        self._decided: set[str] = set()

    async def send(self, text: str, *, model: str | None, timeout: float | None) -> None:
        """Send a prompt and follow its turn."""
        stream = self._chat.send(text, model=model)
        self.turn_id = stream.turn_id
        workers = asyncio.create_task(self._look_after_workers(), name="workers")
        try:
            with self._stopping(timeout):
                await self._follow(stream)
        finally:
            workers.cancel()
            await asyncio.gather(workers, return_exceptions=True)
        self._out.end()

    async def _follow(self, stream: TurnStream) -> None:
        try:
            async for event in stream:
                await self._on_event(event)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self.stopped is None or task is None:
                raise
            task.uncancel()
            self._out.warn("the host has not confirmed that the turn is cancelled")

    async def _on_event(self, event: ChatEvent) -> None:
        out = self._out
        match event:
            case Text(part_id=part_id, text=text):
                out.write(part_id, text)
            case Reasoning(text=text):
                out.think(text)
            case ToolCallChanged(call=call, before=before):
                await self._on_call(call, before)
            case ConfirmationNeeded(turn_id=turn_id, call=call):
                await self._decide(self._chat.uri, turn_id, call)
            case Question(request=request):
                await self._answer(self._chat.uri, request)
            case PartAdded(part=part) if part["kind"] == "systemNotification":
                out.note(one_line(markdown_of(part["content"])), "yellow")
            case UsageReported(usage=usage) if out.verbose:
                out.note(usage_line(usage), "dim")
            case Redrawn(parts=parts):
                out.rewrite(parts)
            case TurnEnded():
                self.end = event

    async def _on_call(self, call: Json, before: Json | None) -> None:
        word = tool_word(call)
        if word != "preparing" and (before is None or word != tool_word(before)):
            self._out.note(f"{tool_line(call)} - {word}", tool_style(call))
            if self._out.verbose and call["status"] == "completed":
                self._out.note(plain(tool_output(call)), "dim")
        if call["status"] == "auth-required" and (before or {}).get("status") != "auth-required":
            await self._refuse_sign_in(self._chat.uri, self.turn_id, call)

    # Deciding.

    async def _decide(self, chat: str, turn_id: str, call: Json) -> None:
        allowed = self._approvals.allow(call)
        what = "the result of " if call["status"] == "pending-result-confirmation" else ""
        verdict = "approved" if allowed else "denied"
        self._out.note(f"{verdict}: {what}{tool_line(call)}", "green" if allowed else "red")
        self.denied = self.denied or not allowed
        await self._dispatch(chat, self._approvals.decide(turn_id, call))

    async def _answer(self, chat: str, request: Json) -> None:
        for question in request.get("questions") or ():
            self._out.note(f"? {question_line(question)}", "cyan")
        reply = self._answers.reply(request)
        self.misfit = self.misfit or reply.is_misfit
        if reply.problem:
            self._out.note(f"declined: {reply.problem}", "yellow")
        if not await self._dispatch(chat, reply.action) and not reply.problem:
            self.misfit = True
            await self._dispatch(chat, actions.input_completed(request["id"], "decline"))

    async def _refuse_sign_in(self, chat: str, turn_id: str, call: Json) -> None:
        self._out.note(f"denied: a sign-in for {tool_line(call)}", "red")
        self.denied = True
        error = {"message": "nobody is there to sign in", "code": "cancelled"}
        result = {"success": False, "pastTenseMessage": "Not signed in", "error": error}
        await self._dispatch(chat, actions.completion(turn_id, call["toolCallId"], result))

    async def _dispatch(self, chat: str, action: Json) -> bool:
        """Carry out a decision; False when the host does not take it."""
        lost: DispatchFailed | None = None
        for _ in range(_MOST_TRIES):
            try:
                await self._client.dispatch(chat, action)
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

    async def _look_after_workers(self) -> None:
        """Decide what workers of this turn ask for; they work in chats of their own."""
        with contextlib.suppress(ChannelGone):
            async for state in self._session.channel:
                workers = family(state["chats"], self._chat.uri) - {self._chat.uri}
                for entry in state.get("inputNeeded") or ():
                    if entry["chat"] in workers and entry["id"] not in self._decided:
                        self._decided.add(entry["id"])
                        await self._decide_for_worker(entry)

    async def _decide_for_worker(self, entry: Any) -> None:
        match entry["kind"]:
            case "toolConfirmation":
                await self._decide(entry["chat"], entry["turnId"], entry["toolCall"])
            case "toolAuthentication":
                await self._refuse_sign_in(entry["chat"], entry["turnId"], entry["toolCall"])
            case "chatInput":
                await self._answer(entry["chat"], entry["request"])

    # Stopping.

    @contextlib.contextmanager
    def _stopping(self, timeout: float | None) -> Iterator[None]:
        """Let signals and the timeout stop the turn for the length of a block."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        timers: list[asyncio.TimerHandle] = []

        def stop(code: int, why: str) -> None:
            if self.stopped is not None:
                task.cancel()
                return
            self.stopped = code
            self._out.warn(why)
            self._chat.cancel()
            timers.append(loop.call_later(_GRACE, task.cancel))

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
