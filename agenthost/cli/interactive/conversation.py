"""One chat on the screen: carries out what the user types, and asks what waits for an answer.

Wires the pure models to the client and the screen. What is drawn is ``conversation_view``'s, what
is asked ``prompt_queue``'s, what our own commands do those in ``commands``'.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from typing import Any

from prompt_toolkit.input import Input

from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.interactive.agent_commands import AgentCommands
from agenthost.cli.interactive.call_pager import page_call
from agenthost.cli.interactive.chat_actions import ChatActions, failure_line
from agenthost.cli.interactive.commands.registry import COMMANDS
from agenthost.cli.interactive.completion_menu import MenuItem
from agenthost.cli.interactive.conversation_view import ConversationView
from agenthost.cli.interactive.display import listings
from agenthost.cli.interactive.display.printed_transcript import Transcript
from agenthost.cli.interactive.display.referenced_content import ReferencedContent
from agenthost.cli.interactive.display.styled_text import StyledLine, line
from agenthost.cli.interactive.display.terminal_tails import TerminalTails
from agenthost.cli.interactive.edited_line import edit_line
from agenthost.cli.interactive.message_history import MessageHistory
from agenthost.cli.interactive.outcome import ConversationOutcome, Leave
from agenthost.cli.interactive.prompts.approvals import Approval
from agenthost.cli.interactive.prompts.dialogue import Act, Hint, Reply
from agenthost.cli.interactive.prompts.pending import pending_prompts
from agenthost.cli.interactive.prompts.prompt_queue import PromptQueue
from agenthost.cli.interactive.prompts.questions import Questions
from agenthost.cli.interactive.screen import BufferedTerminalOutput, Screen
from agenthost.cli.interactive.tab_key import complete_typed, narrow_menu
from agenthost.cli.interactive.typed_input import (
    Command,
    Intent,
    Interrupts,
    Say,
    Steer,
    foreign_command,
    mistyped_command,
    no_such_command,
    parse,
)
from agenthost.cli.interactive.viewers import ONLY_LOOKING, is_viewer, not_for_viewers
from agenthost.client import Chat, Client, Closed, ConnectionState, Session
from agenthost.client.state.signals import Signal
from agenthost.errors import AgentHostError
from agenthost.tasks import Tasks

FRAME = 0.03
"""Seconds between two drawings; several changes within make one."""

TICK = 0.125
"""Seconds between two drawings while something moves on the screen by itself."""

SLOWEST = 0.25
"""Seconds between two drawings at most, however long each takes: keys are heard in between."""

LOOK_FIRST = 0.7
"""Seconds in which nobody can have read a question that took another one's place."""

HINT = 10.0
"""Seconds for which a hint is shown."""


class Conversation:
    """One chat on the screen, until the user leaves it."""

    def __init__(
        self,
        client: Client,
        session: Session,
        chat: Chat,
        *,
        model: str | None = None,
        agent: str | None = None,
        colour: bool = True,
        banner: Sequence[StyledLine] = (),
        history: MessageHistory | None = None,
        output: BufferedTerminalOutput | None = None,
        input: Input | None = None,
    ) -> None:
        self.client = client
        self.session = session
        self.chat = chat
        self.content = ReferencedContent(client, self.wake)
        self.tails = TerminalTails(client, self.wake)
        self.transcript = Transcript(
            edit_lines=self.content.edit_lines,
            is_loading=self.content.is_loading,
            terminal_tail=self.tails.tail,
        )
        self.prompts = PromptQueue()
        said = listings.user_messages(chat.state)
        self.screen = Screen(
            self,
            output=output,
            input=input,
            colour=colour,
            history=said if history is None else history.texts(said),
            keep=None if history is None else history.keep,
        )
        self.actions = ChatActions(
            client, session, chat, self.prompts, self.note, model=model, agent=agent
        )
        # How it ends, once that is known.
        self._left: ConversationOutcome | None = None
        # What to print with the next frame, and what to say above the line until that changes.
        self.notes: list[StyledLine] = list(banner)
        self.hinted = ""
        self._hint_ends: asyncio.TimerHandle | None = None
        self._view = ConversationView(self)
        self._agent_commands = AgentCommands(chat)
        self._interrupts = Interrupts()
        # Whether what was asked is settled, and nothing was asked since.
        self._settled = False
        # Until when an answer must have been meant for what was asked before.
        self._look_first = 0.0
        # What looks for things to insert, and what shows a call in the pager.
        self._completing: asyncio.Task[None] | None = None
        self._viewing: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._tasks = Tasks(lambda error: self.leave(Leave(error)))

    @property
    def is_viewer(self) -> bool:
        """Whether the user may only look."""
        return is_viewer(self.client)

    async def run(self) -> ConversationOutcome:
        """Run until the user leaves or the chat is gone."""
        stop = self.client.connection.on_change(self._on_link)
        draft = None if self.is_viewer else self.chat.state.get("draft")
        self.screen.text = draft["text"] if draft is not None else ""
        try:
            self.start(self._draw(), "draw")
            if not self.is_viewer:
                self.start(self._agent_commands.learn(), "learn commands")
            for signal in (self.chat.channel.changed, self.session.channel.changed):
                self.start(self._relay(signal), "relay")
            # So that not even the first thing that is drawn is an empty screen.
            self._redraw()
            await self.screen.run()
        finally:
            stop()
            self.hint("")
            await self.actions.flush()
            await self.content.close()
            await self.tails.close()
            await self._tasks.close()
        return self._left or Leave()

    def leave(self, left: ConversationOutcome) -> None:
        """End the conversation with an outcome; the first one counts."""
        if self._left is None:
            self._left = left
            self.screen.leave()

    def wake(self) -> None:
        """Draw again soon."""
        self._wake.set()

    def note(self, *lines: StyledLine) -> None:
        """Print lines above the live part."""
        self.notes += lines
        self.wake()

    def hint(self, text: str, seconds: float = HINT) -> None:
        """Show a hint above the input line, for a while or until something is entered."""
        self.hinted = text
        self.wake()
        if self._hint_ends is not None:
            self._hint_ends.cancel()
        if text:
            self._hint_ends = asyncio.get_running_loop().call_later(seconds, self.hint, "")

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run a background task; if it fails, so does the conversation."""
        return self._tasks.start(work, name)

    # What the user does.

    def on_submit(self, text: str) -> None:
        """Handle a line that was entered."""
        text = decode_argument(text)
        self.hinted = ""
        self.wake()
        dialogue = self.prompts.dialogue
        if dialogue is None:
            self._submit(text)
        elif not dialogue.is_literal and (meant := mistyped_command(text)) is not None:
            self.screen.text = text
            word = text.split()[0]
            self.hint(f"there is no command {word}; did you mean /{meant}? · /{word} answers so")
        elif time.monotonic() < self._look_first:
            self._ask_to_look()
        else:
            self._answer(text, is_literal=dialogue.is_literal)

    def on_edit(self) -> None:
        """Handle a change of what is typed."""
        self.wake()

    def on_interrupt(self) -> None:
        """Handle Ctrl-C."""
        running = self.chat.active_turn is not None and not self.is_viewer
        typing = bool(self.screen.text)
        match self._interrupts.on_interrupt(time.monotonic(), running=running, typing=typing):
            case "leave":
                self.leave(Leave())
            case "cancel":
                self.actions.cancel()
                self.hint("cancelling · Ctrl-C again leaves", self._interrupts.WINDOW)
            case "clear":
                self.screen.text = ""
            case "warn":
                self.hint("Ctrl-C again leaves", self._interrupts.WINDOW)

    def on_escape(self) -> None:
        """Handle the Escape key: back to the question before."""
        if self.prompts.back() and self.prompts.dialogue is not None:
            self.screen.text = self.prompts.dialogue.prefill
            self.wake()

    def on_end(self) -> None:
        """Handle Ctrl-D on an empty line: leave."""
        self.leave(Leave())

    def on_complete(self) -> None:
        """Handle the Tab key: complete what is typed, unless it is an answer."""
        if self.prompts.dialogue is None and self.screen.before_cursor:
            self._complete(complete_typed(self))

    def on_narrow(self) -> None:
        """Handle typing on below an open menu."""
        self._complete(narrow_menu(self))

    def on_taken(self, item: MenuItem) -> None:
        """Handle a word that was completed: what belongs to it goes along in the message."""
        if item.attached is not None:
            self.actions.attached |= dict([item.attached])

    def on_view(self) -> None:
        """Handle ``v`` at an approval: show all that is asked about in the pager."""
        current = self.prompts.current
        if not isinstance(current, Approval) or (self._viewing and not self._viewing.done()):
            return
        if time.monotonic() < self._look_first:
            self._ask_to_look()
            return
        self._viewing = self.start(page_call(self, current.pending.item), "view")

    def on_edit_text(self) -> None:
        """Handle Ctrl-X Ctrl-E: edit what is typed in an editor."""
        if self.is_viewer:
            self.hint(ONLY_LOOKING)
        else:
            self.start(edit_line(self), "edit")

    # What that leads to.

    def _submit(self, text: str) -> None:
        """Carry out a line that is a message or a command."""
        intent, name = parse(text), foreign_command(text)
        if self.is_viewer and not isinstance(intent, Command):
            told = ONLY_LOOKING if name is None else no_such_command(name, to_agent=False)
            self.hint(told if intent is not None else "")
        elif name is None or name in self._agent_commands.names:
            self._carry_out(intent)
        else:
            self.start(self._submit_if_known(text, name), "submit")

    async def _submit_if_known(self, text: str, name: str) -> None:
        """Send a command that may be the agent's; what is nobody's is sent to no model."""
        known = await self._agent_commands.has(name)
        if known:
            self._carry_out(parse(text))
            return
        if self.prompts.dialogue is None and not self.screen.text:
            self.screen.text = text
        if known is None:
            self.hint(f"nobody can say now whether the agent has /{name} · //{name} sends it")
        else:
            self.hint(no_such_command(name, self._agent_commands.names))

    def _carry_out(self, intent: Intent | None) -> None:
        try:
            match intent:
                case Say(text):
                    self.actions.send(text)
                case Steer(text):
                    self.actions.steer(text)
                case Command(name) if self.is_viewer and not COMMANDS[name].viewer:
                    self.hint(not_for_viewers(name))
                case Command(name, argument):
                    COMMANDS[name].run(self, argument)
        except AgentHostError as error:
            self.note(failure_line("that did not work", str(error)))

    def _answer(self, text: str, *, is_literal: bool) -> None:
        """Take a line for an answer, unless it is meant for the agent or for us."""
        if not is_literal:
            intent = parse(text)
            is_steering = isinstance(intent, Steer) and not isinstance(
                self.prompts.dialogue, Questions
            )
            if is_steering or isinstance(intent, Command):
                self._carry_out(intent)
                return
            text = text.strip()[1:] if text.strip().startswith("//") else text
        reply = self.prompts.respond(text)
        self.follow_up(reply)
        if isinstance(reply, Hint):
            self.screen.text = text

    def follow_up(self, reply: Reply) -> None:
        """Do what a reply to a prompt leads to: hint, answer, or next question."""
        if isinstance(reply, Hint):
            self.hint(reply.text)
        elif isinstance(reply, Act):
            self.actions.answer(reply)
        else:
            self.screen.text = reply.prefill
            draft = reply.draft() if isinstance(reply, Questions) else None
            if draft is not None:
                self.actions.draft(reply.pending, draft)

    def _ask_to_look(self) -> None:
        self.hint("the question has just changed; read it, then answer")

    def _complete(self, work: Coroutine[Any, Any, None]) -> None:
        if self._completing is not None:
            self._completing.cancel()
        self._completing = self.start(work, "complete")

    # Drawing.

    async def _draw(self) -> None:
        while True:
            self._redraw()
            moves = self.chat.active_turn is not None or not self._view.link.is_up
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK if moves else None):
                    await self._wake.wait()
            # Where drawing is slow, most of the time is left to what is typed.
            await asyncio.sleep(min(max(FRAME, 4 * self.screen.drawing_took), SLOWEST))
            self._wake.clear()

    async def _relay(self, signal: Signal) -> None:
        count = signal.count
        while True:
            count = await signal.wait_past(count)
            self.wake()

    def _redraw(self) -> None:
        gone = self.chat.channel.gone or self.session.channel.gone
        if gone is not None:
            self.leave(Leave(gone))
            return
        self.actions.mark_read()
        self._view.update()
        self._ask_pending(self.chat.channel.confirmed)
        self.screen.keeps_history = self.prompts.dialogue is None
        current = self.prompts.current
        self.screen.can_view = isinstance(current, Approval) and current.is_viewable
        self.screen.show(self._view.frame())
        self.notes = []

    def _ask_pending(self, confirmed: Any) -> None:
        """Ask what is pending, unless the user is typing a message, or may not answer."""
        session, screen = self.session, self.screen
        found = pending_prompts(self.chat.uri, confirmed, session.chats, session.input_needed)
        was_asking = self.prompts.dialogue is not None
        for told in self.prompts.update(found, confirmed):
            self.note(line(("dim", "· "), told))
        if was_asking and self.prompts.dialogue is None:
            self._settled = True
            screen.text = ""
        is_free = not (screen.text or screen.is_suspended or screen.is_searching)
        if self.prompts.dialogue is None and is_free and not self.is_viewer:
            dialogue = self.prompts.ask_next()
            if dialogue is not None:
                screen.text = dialogue.prefill
                self._look_first = time.monotonic() + LOOK_FIRST if self._settled else 0.0
            self._settled = False
        for pending in self.prompts.waiting:
            if pending.kind != "questions":
                self.content.prefetch(pending.item)

    def _on_link(self, state: ConnectionState) -> None:
        self._view.on_link(state)
        self.wake()
        if isinstance(state, Closed):
            self.leave(Leave(state.error))
