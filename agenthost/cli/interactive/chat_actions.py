"""Sends the user's messages and answers to the host and reports refusals.

Knows the client and one chat; nothing of the screen, to which it only tells lines.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.completion import attachments_in
from agenthost.cli.interactive.display.styled_text import StyledLine, line
from agenthost.cli.interactive.mentioned_files import find_mentioned, mentions
from agenthost.cli.interactive.prompts.dialogue import Act
from agenthost.cli.interactive.prompts.pending import Pending
from agenthost.cli.interactive.prompts.prompt_queue import PromptQueue
from agenthost.cli.interactive.viewers import is_viewer
from agenthost.cli.read_mark import ReadMark
from agenthost.client import Chat, Client, Dispatch, DispatchFailed, Session, Uncertain
from agenthost.client.chat import MessageOptions
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
        agent: str | None = None,
    ) -> None:
        self._client = client
        self._session = session
        self._chat = chat
        self._prompts = prompts
        self._tell = tell
        # The model that answers from now on; None for the agent's default.
        self.model = model
        # The URI of the custom agent that answers; None for the agent itself.
        self.agent = agent
        # The attachments of words that were completed, which go along with these words.
        self.attached: dict[str, Mapping[str, Any]] = {}
        self._read = ReadMark(session, chat)
        # Messages whose files are looked for, one after the other, so that none overtakes.
        self._unsent = 0
        self._in_turn = asyncio.Lock()
        # What waits for the host to take something.
        self._waiting: set[asyncio.Task[None]] = set()

    def send(self, text: str) -> None:
        """Send a message, or queue it while a turn runs."""
        self._with_files(text, self._send)

    def _send(self, text: str, options: MessageOptions) -> None:
        if self._chat.active_turn is not None:
            self._queue(text, options)
            return
        started = self._chat.send(text, **options).started
        assert started is not None
        self.report_failure(started, f"“{_short(text)}” was not sent")
        if self._chat.state.get("draft") is not None:
            self.report_failure(self._chat.draft(None), "the draft is still there")

    def _with_files(self, text: str, give: Callable[[str, MessageOptions], None]) -> None:
        """Give a message to the host, with the files that it mentions attached."""
        paths = mentions(text, list(self.attached))
        options = self._options(text)
        if (paths and self._folders) or self._unsent:
            self._unsent += 1
            self._keep(self._find_and_give(text, paths, options, give))
        else:
            give(text, options)

    async def _find_and_give(
        self,
        text: str,
        paths: Sequence[str],
        options: MessageOptions,
        give: Callable[[str, MessageOptions], None],
    ) -> None:
        try:
            async with self._in_turn:
                options = await self._attached_files(paths, options)
        finally:
            # Also of whoever leaves meanwhile: it was said nevertheless.
            self._unsent -= 1
            try:
                give(text, options)
            except AgentHostError as error:
                self._tell(failure_line("that did not work", str(error)))

    async def _attached_files(
        self, paths: Sequence[str], options: MessageOptions
    ) -> MessageOptions:
        found = await find_mentioned(self._session, paths, self._folders)
        for path in found.unknown:
            told = f"· @{one_line(path)} is nothing in this session's folders: sent as text"
            self._tell(line(("dim", told)))
        if found.attachments:
            attachments = [*options.get("attachments", ()), *found.attachments]
            return {**options, "attachments": attachments}
        return options

    @property
    def _folders(self) -> Sequence[str]:
        own: Sequence[str] | None = self._chat.state.get("workingDirectories")
        return own or self._session.state.get("workingDirectories") or ()

    def _options(self, text: str) -> MessageOptions:
        options: MessageOptions = {}
        if self.model is not None:
            options["model"] = self.model
        if self.agent is not None:
            options["agent"] = self.agent
        if attachments := attachments_in(text, self.attached):
            options["attachments"] = attachments
        self.attached = {}
        return options

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
        self._with_files(text, self._queue)

    def _queue(self, text: str, options: MessageOptions) -> None:
        queued = self._chat.queue(text, **options)
        self.report_failure(queued, f"“{_short(text)}” was not queued")

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
        self._with_files(text, self._steer)

    def _steer(self, text: str, options: MessageOptions) -> None:
        if self._chat.active_turn is None:
            # Over while files were looked for.
            self._send(text, options)
            return
        self.report_failure(self._chat.steer(text, **options), f"“{_short(text)}” did not steer")

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
        """Mark the session as read if it is unread and no turn runs; viewers leave no mark."""
        if is_viewer(self._client):
            return
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
