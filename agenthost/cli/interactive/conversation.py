"""One chat on the screen: draws its state and carries out what the user types.

Wires the pure models to the client and the screen. What things look like is
``printed_transcript``'s and ``status_lines``', what is asked ``prompt_queue``'s, what our own
commands do ``slash_commands``'.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

from prompt_toolkit.input import Input

from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.format.state_format import short_id
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.chat_actions import ChatActions, failure_line
from agenthost.cli.interactive.display import listings, status_lines
from agenthost.cli.interactive.display.printed_transcript import Transcript
from agenthost.cli.interactive.display.referenced_content import ReferencedContent
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, line, wrap
from agenthost.cli.interactive.display.terminal_tails import TerminalTails
from agenthost.cli.interactive.outcome import ConversationOutcome, Leave
from agenthost.cli.interactive.prompts.dialogue import Act, Hint, Reply
from agenthost.cli.interactive.prompts.pending import Pending, pending_prompts
from agenthost.cli.interactive.prompts.prompt_queue import PromptQueue
from agenthost.cli.interactive.prompts.questions import Questions
from agenthost.cli.interactive.screen import BufferedTerminalOutput, Frame, Screen
from agenthost.cli.interactive.slash_commands import SlashCommands
from agenthost.cli.interactive.typed_input import (
    Command,
    Intent,
    Interrupts,
    Say,
    Steer,
    mistyped_command,
    parse,
)
from agenthost.client import Chat, Client, Closed, ConnectionState, Session
from agenthost.client.state.signals import Signal
from agenthost.errors import AgentHostError
from agenthost.tasks import Tasks

FRAME = 0.03
"""Seconds between two drawings; several changes within make one."""

TICK = 0.125
"""Seconds between two drawings while something moves on the screen by itself."""

LOOK_FIRST = 0.7
"""Seconds in which nobody can have read a question that took another one's place."""

LEARNING = 5.0
"""Seconds in which a host must have told the agent's commands."""

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
        colour: bool = True,
        banner: Sequence[StyledLine] = (),
        output: BufferedTerminalOutput | None = None,
        input: Input | None = None,
    ) -> None:
        self.client = client
        self.session = session
        self.chat = chat
        self.content = ReferencedContent(client, self._changed)
        self._tails = TerminalTails(client, self._changed)
        self.transcript = Transcript(
            edit_lines=self.content.edit_lines,
            is_loading=self.content.is_loading,
            terminal_tail=self._tails.tail,
        )
        self.prompts = PromptQueue()
        said = listings.user_messages(chat.state)
        self.screen = Screen(self, output=output, input=input, colour=colour, history=said)
        self.actions = ChatActions(client, session, chat, self.prompts, self.note, model=model)
        self._slash_commands = SlashCommands(self)
        # How it ends, once that is known.
        self._left: ConversationOutcome | None = None
        # What to print with the next frame, and what to say above the line until that changes.
        self._notes: list[StyledLine] = []
        self._hint = ""
        self._hint_ends: asyncio.TimerHandle | None = None
        self._banner = banner
        self._link = status_lines.ConnectionView(client.connection.state)
        # Whether the loss of the connection was told.
        self._lost = False
        # The turn under way, and when it began by the monotonic clock.
        self._turn: tuple[str, float] | None = None
        # The turns that were over when we came, or are since: what they changed is known or let be.
        self._over = {turn["id"] for turn in chat.state["turns"]}
        # The agent's own commands, as far as they are known, without their slashes.
        self._agent_commands: set[str] = set()
        self._learned = asyncio.Event()
        self._interrupts = Interrupts()
        # Until when an answer must have been meant for what was asked before.
        self._look_first = 0.0
        self._wake = asyncio.Event()
        self._tasks = Tasks(lambda error: self.leave(Leave(error)))

    async def run(self) -> ConversationOutcome:
        """Run until the user leaves or the chat is gone."""
        stop = self.client.connection.on_change(self._on_link)
        draft = self.chat.state.get("draft")
        self.screen.text = draft["text"] if draft is not None else ""
        try:
            self.start(self._draw(), "draw")
            self.start(self._learn_commands(), "learn commands")
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
            await self._tails.close()
            await self._tasks.close()
        return self._left or Leave()

    def leave(self, left: ConversationOutcome) -> None:
        """End the conversation with an outcome; the first one counts."""
        if self._left is None:
            self._left = left
            self.screen.leave()

    def note(self, *lines: StyledLine) -> None:
        """Print lines above the live part."""
        self._notes += lines
        self._wake.set()

    def hint(self, text: str, seconds: float = HINT) -> None:
        """Show a hint above the input line, for a while or until something is entered."""
        self._hint = text
        self._wake.set()
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
        self._hint = ""
        self._wake.set()
        dialogue = self.prompts.dialogue
        if (dialogue is None or not dialogue.is_literal) and self._suggest_command(text):
            return
        if dialogue is None:
            self._carry_out(parse(text))
            return
        if time.monotonic() < self._look_first:
            self.hint("the question has just changed; read it, then answer")
            return
        if not dialogue.is_literal:
            intent = parse(text)
            is_steering = isinstance(intent, Steer) and not isinstance(dialogue, Questions)
            if is_steering or isinstance(intent, Command):
                self._carry_out(intent)
                return
            text = text.strip()[1:] if text.strip().startswith("//") else text
        self._respond(text)

    def on_edit(self) -> None:
        """Handle a change of what is typed."""
        self._wake.set()

    def on_interrupt(self) -> None:
        """Handle Ctrl-C."""
        running = self.chat.active_turn is not None
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
            self._wake.set()

    def on_end(self) -> None:
        """Handle Ctrl-D on an empty line: leave."""
        self.leave(Leave())

    # What that leads to.

    def _suggest_command(self, text: str) -> bool:
        """Suggest a command for a mistyped one; False if the line is not one."""
        # An answer cannot be a command of the agent's.
        agents = self._agent_commands if self.prompts.dialogue is None else ()
        meant = mistyped_command(text, agents)
        if meant is None:
            return False
        if self.prompts.dialogue is None and not self._learned.is_set():
            # Whoever types faster than the host answers may well mean the agent.
            self.start(self._submit_once_learned(text), "submit")
            return True
        word = text.split()[0]
        self.screen.text = text
        self.hint(f"unknown command {word}; did you mean /{meant}? Type /{word} to send it as text")
        return True

    async def _learn_commands(self) -> None:
        """Ask the host for the agent's own slash commands."""
        with contextlib.suppress(AgentHostError, TimeoutError):
            async with asyncio.timeout(LEARNING):
                items = await self.chat.completions("/")
            words = (item["insertText"].strip() for item in items)
            self._agent_commands = {word[1:] for word in words if word.startswith("/")}
        self._learned.set()

    async def _submit_once_learned(self, text: str) -> None:
        await self._learned.wait()
        self.on_submit(text)

    def _carry_out(self, intent: Intent | None) -> None:
        try:
            match intent:
                case Say(text):
                    self.actions.send(text)
                case Steer(text):
                    self.actions.steer(text)
                case Command():
                    self._slash_commands.run(intent)
        except AgentHostError as error:
            self.note(failure_line("that did not work", str(error)))

    def _respond(self, text: str) -> None:
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

    # Drawing.

    async def _draw(self) -> None:
        while True:
            self._redraw()
            moves = self.chat.active_turn is not None or not self._link.is_up
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK if moves else None):
                    await self._wake.wait()
            await asyncio.sleep(FRAME)
            self._wake.clear()

    async def _relay(self, signal: Signal) -> None:
        count = signal.count
        while True:
            count = await signal.wait_past(count)
            self._wake.set()

    def _redraw(self) -> None:
        gone = self.chat.channel.gone or self.session.channel.gone
        if gone is not None:
            self.leave(Leave(gone))
            return
        width, rows = self.screen.size
        confirmed = self.chat.channel.confirmed
        self._prefetch_edits(confirmed)
        self._tails.follow(_calls_of(confirmed.get("activeTurn")))
        shown = self.transcript.update(confirmed, width)
        self._note_turn()
        self.actions.mark_read()
        self._ask_pending(confirmed)
        notes = [row for note in (*self._banner, *self._notes) for row in wrap(note, width)]
        self._banner, self._notes = (), []
        live = [*shown.live, *self._lines_above_input(width, rows)]
        dialogue = self.prompts.dialogue
        label = line(("ask", dialogue.label)) if dialogue is not None else line(("user", "› "))
        bar = status_lines.bar(
            chat_location(self.client, self.session, self.chat),
            self._link,
            running=self.chat.active_turn is not None,
            asking=dialogue is not None,
            now=time.monotonic(),
            width=width - 1,
        )
        self.screen.keeps_history = dialogue is None
        self.screen.show(Frame([*notes, *shown.printed], live, label, bar))

    def _lines_above_input(self, width: int, rows: int) -> list[StyledLine]:
        """Return the lines between the turn and the input line."""
        chat, confirmed = self.chat.state, self.chat.channel.confirmed
        lines = [*status_lines.unsent_lines(chat, confirmed, self._link, width), EMPTY]
        lines += status_lines.background_lines(confirmed, width)
        current, queued = self.prompts.current, status_lines.pending_lines(chat, width)
        if current is not None:
            lines += queued
            lines += current.card(width, rows - 6, self._preview(current.pending, width - 4))
            if self.prompts.dialogue is None:
                lines.append(line(("ask", "▌ "), ("dim", _LATER)))
            elif len(self.prompts.waiting) > 1:
                more = f"and {len(self.prompts.waiting) - 1} more after this"
                lines.append(line(("ask", "▌ "), ("dim", more)))
        elif self._turn is not None:
            now = time.monotonic()
            lines += [status_lines.busy_line(chat, self._turn[1], now, self._link), *queued]
        else:
            lines += queued
        return [*lines, line(("ask", self._hint))] if self._hint else lines

    def _ask_pending(self, confirmed: Any) -> None:
        """Ask what is pending, unless the user is typing a message."""
        session = self.session
        found = pending_prompts(self.chat.uri, confirmed, session.chats, session.input_needed)
        was_asking = self.prompts.dialogue is not None
        for told in self.prompts.update(found, confirmed):
            self.note(line(("dim", "· "), told))
        settled = was_asking and self.prompts.dialogue is None
        if settled:
            self.screen.text = ""
        if self.prompts.dialogue is None and not self.screen.text:
            dialogue = self.prompts.ask_next()
            if dialogue is not None:
                self.screen.text = dialogue.prefill
                self._look_first = time.monotonic() + LOOK_FIRST if settled else 0.0
        for pending in self.prompts.waiting:
            if pending.kind != "questions":
                self.content.prefetch(pending.item)

    def _preview(self, pending: Pending, width: int) -> list[StyledLine]:
        """Return the edits and inputs that a pending call refers to, as far as fetched."""
        if pending.kind == "questions":
            return []
        return self.content.preview_lines(pending.item, width)

    def _prefetch_edits(self, confirmed: Any) -> None:
        """Fetch the edits of running and just finished turns."""
        turns: list[Any] = [confirmed["activeTurn"]] if "activeTurn" in confirmed else []
        for turn in reversed(confirmed["turns"]):
            if turn["id"] in self._over:
                break
            self._over.add(turn["id"])
            turns.append(turn)
        for turn in turns:
            for part in turn["responseParts"]:
                if part["kind"] == "toolCall" and part["toolCall"]["status"] == "completed":
                    self.content.prefetch(part["toolCall"])

    def _changed(self) -> None:
        self._wake.set()

    def _note_turn(self) -> None:
        active = self.chat.active_turn
        if active is None:
            if self._turn is not None:
                self._turn, self._hint = None, ""
        elif self._turn is None or self._turn[0] != active["id"]:
            ago = status_lines.seconds_since(active.get("startedAt") or "", datetime.now(UTC))
            self._turn = (active["id"], time.monotonic() - ago)

    def _on_link(self, state: ConnectionState) -> None:
        self._link = status_lines.ConnectionView(state, time.monotonic())
        told = status_lines.link_note(state, self._lost)
        if told is not None:
            self._lost = not self._link.is_up
            self.note(told)
            self.content.retry_failed()
        self._wake.set()
        if isinstance(state, Closed):
            self.leave(Leave(state.error))


def _calls_of(turn: Any) -> list[Any]:
    parts = () if turn is None else turn["responseParts"]
    return [part["toolCall"] for part in parts if part["kind"] == "toolCall"]


def chat_location(client: Client, session: Session, chat: Chat) -> status_lines.ChatLocation:
    """Return the agent, session and chat for the status bar."""
    state, root = session.state, client.root
    known = root.state["agents"] if root.has_state else []
    agents = {agent["provider"]: agent["displayName"] for agent in known}
    name = one_line(agents.get(state["provider"], state["provider"]))
    is_default = chat.uri == state.get("defaultChat") or len(state["chats"]) == 1
    title = "" if is_default else one_line(chat.state["title"])[:20]
    return status_lines.ChatLocation(name, state["title"], short_id(session.uri), title)


_LATER = "your line comes first: Enter sends it, an empty line answers this"
