"""Sends the user's messages and answers to the host and reports refusals.

Knows the client and one chat; nothing of the screen, to which it only tells lines.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.display.styled_text import StyledLine, line
from agenthost.cli.interactive.prompts.dialogue import Act
from agenthost.cli.interactive.prompts.pending import Pending
from agenthost.cli.interactive.prompts.prompt_queue import PromptQueue
from agenthost.cli.read_mark import ReadMark
from agenthost.client import Chat, Client, Dispatch, DispatchFailed, Session, Uncertain
from agenthost.errors import AgentHostError

PARTING = 1.0
"""Seconds for which leaving waits until the host has taken what was said last."""


class ChatActions:
    """Dispatches the user's actions on one chat."""

    def __init__(
        self,
        client: Client,
        session: Session,
        chat: Chat,
        prompts: PromptQueue,
        tell: Callable[[StyledLine], None],
        *,
        model: str | None = None,
    ) -> None:
        self._client = client
        self._session = session
        self._chat = chat
        self._prompts = prompts
        self._tell = tell
        self._options: dict[str, Any] = {} if model is None else {"model": model}
        self._read = ReadMark(session, chat)
        # What waits for the host to take something.
        self._waiting: set[asyncio.Task[None]] = set()

    def send(self, text: str) -> None:
        """Send a message, or queue it while a turn runs."""
        if self._chat.active_turn is not None:
            self.queue(text)
            return
        started = self._chat.send(text, **self._options).started
        assert started is not None
        self.report_failure(started, f"“{_short(text)}” was not sent")
        if self._chat.state.get("draft") is not None:
            self.report_failure(self._chat.draft(None), "the draft is still there")

    def resume(self) -> None:
        """Go on with the last turn, which failed.

        Raises:
            LookupError: there is no turn that can be resumed.
        """
        resumed = self._chat.resume().started
        assert resumed is not None
        self.report_failure(resumed, "the turn was not resumed")

    def queue(self, text: str) -> None:
        """Queue a message."""
        self.report_failure(
            self._chat.queue(text, **self._options), f"“{_short(text)}” was not queued"
        )

    def unqueue(self, id: str) -> None:
        """Take a message off the queue."""
        self.report_failure(self._chat.unqueue(id), "it is still queued")

    def steer(self, text: str) -> None:
        """Steer the running turn; without one, send an ordinary message."""
        if self._chat.active_turn is None:
            prefix = self._client.host.get("terminalCommandPrefix")
            self.send(f"!{text}" if prefix == "!" else text)
            return
        # The chat does not keep it, but whoever reads back here wants to know.
        self._tell(line(("user", f"! {one_line(text)}")))
        self.report_failure(
            self._chat.steer(text, **self._options), f"“{_short(text)}” did not steer"
        )

    def cancel(self) -> bool:
        """Cancel the turn; False when none runs."""
        dispatch = self._chat.cancel()
        if dispatch is not None:
            self.report_failure(dispatch, "the turn was not cancelled")
        return dispatch is not None

    def answer(self, act: Act) -> None:
        """Dispatch the answer to an approval or a question."""
        pending = act.asked.pending
        try:
            dispatch = self._client.dispatch(pending.chat, act.action)
        except AgentHostError as error:
            self._prompts.refused(pending.key, str(error))
            self._tell(failure_line("not answered", str(error)))
            return
        self.report_failure(dispatch, "not answered", pending)

    def draft(self, pending: Pending, action: Mapping[str, Any]) -> None:
        """Show others an answer before it is given."""
        with contextlib.suppress(AgentHostError):
            self._client.dispatch(pending.chat, action)

    def mark_read(self) -> None:
        """Mark the session as read if it is unread and no turn runs."""
        for marking in self._read.mark_if_unread(running=self._chat.active_turn is not None):
            # Whether it is taken matters to nobody here, only that it is sent before one leaves.
            self._keep(_quietly(marking))

    def report_failure(self, dispatch: Dispatch, what: str, pending: Pending | None = None) -> None:
        """Print a line if the host does not accept an action."""
        self._keep(self._outcome(dispatch, what, pending))

    async def flush(self) -> None:
        """Wait shortly until the host has accepted the last actions."""
        self.mark_read()
        if self._waiting:
            _, late = await asyncio.wait(self._waiting, timeout=PARTING)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="outcome")
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _outcome(self, dispatch: Dispatch, what: str, pending: Pending | None) -> None:
        try:
            await dispatch
        except DispatchFailed as error:
            # Of some nobody knows whether the host has taken them.
            what = f"perhaps {what}" if isinstance(error, Uncertain) else what
            why = one_line(str(error))
        else:
            if pending is not None:
                self._prompts.accepted(pending.key)
            return
        if pending is not None:
            self._prompts.refused(pending.key, why)
        self._tell(failure_line(what, why))


async def _quietly(dispatch: Dispatch) -> None:
    with contextlib.suppress(AgentHostError):
        await dispatch


def failure_line(what: str, why: str) -> StyledLine:
    """Return the line that reports a failure."""
    return line(("bad", "✗ "), f"{what}: {why}")


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= 30 else f"{text[:29]}…"
