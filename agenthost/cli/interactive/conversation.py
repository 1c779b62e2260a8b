"""One chat on the screen: what the host says is drawn, what the user does is carried out.

Wires the pure models to the client and the shell. What things look like is ``transcript``'s and
``frames``', what is asked ``desk``'s, what our own commands do ``errands``'.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

from prompt_toolkit.input import Input

from agenthost.cli.connection.host_connection import as_typed
from agenthost.cli.format.state_format import one_line, short_id
from agenthost.cli.interactive import typed_input as intents
from agenthost.cli.interactive.chat_actions import Acting, trouble
from agenthost.cli.interactive.display import listings
from agenthost.cli.interactive.display import status_lines as frames
from agenthost.cli.interactive.display.printed_transcript import Transcript
from agenthost.cli.interactive.display.referenced_content import Contents
from agenthost.cli.interactive.display.styled_text import EMPTY, Line, line, wrap
from agenthost.cli.interactive.outcome import Leave, Left
from agenthost.cli.interactive.prompts.dialogue import Act, Hint, Reply
from agenthost.cli.interactive.prompts.pending import Pending, waiting
from agenthost.cli.interactive.prompts.prompt_queue import Desk
from agenthost.cli.interactive.prompts.questions import Questions
from agenthost.cli.interactive.screen import Frame, Shell, SteadyOutput
from agenthost.cli.interactive.slash_commands import Errands
from agenthost.client import (
    Chat,
    Client,
    Closed,
    ConnectionState,
    Session,
)
from agenthost.client.state.signals import Signal
from agenthost.errors import AgentHostError

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
    """A chat that is followed and taken part in."""

    def __init__(
        self,
        client: Client,
        session: Session,
        chat: Chat,
        *,
        model: str | None = None,
        colour: bool = True,
        banner: Sequence[Line] = (),
        output: SteadyOutput | None = None,
        input: Input | None = None,
    ) -> None:
        self.client = client
        self.session = session
        self.chat = chat
        self.contents = Contents(client, self._changed)
        self.transcript = Transcript(
            edit_lines=self.contents.edit_lines, awaits=self.contents.awaits
        )
        self.desk = Desk()
        said = listings.user_messages(chat.state)
        self.shell = Shell(self, output=output, input=input, colour=colour, history=said)
        self.acting = Acting(client, session, chat, self.desk, self.note, model=model)
        self._errands = Errands(self)
        # How it ends, once that is known.
        self._left: Left | None = None
        # What to print with the next frame, and what to say above the line until that changes.
        self._notes: list[Line] = []
        self._hint = ""
        self._hint_ends: asyncio.TimerHandle | None = None
        self._banner = banner
        self._link = frames.Link(client.connection.state)
        # Whether the loss of the connection was told.
        self._lost = False
        # The turn under way, and when it began by the monotonic clock.
        self._turn: tuple[str, float] | None = None
        # The turns that were over when we came, or are since: what they changed is known or let be.
        self._over = {turn["id"] for turn in chat.state["turns"]}
        # The agent's own commands, as far as they are known, without their slashes.
        self._agent_commands: set[str] = set()
        self._learned = asyncio.Event()
        self._interrupts = intents.Interrupts()
        # Until when an answer must have been meant for what was asked before.
        self._look_first = 0.0
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> Left:
        """Converse until the user leaves or cannot go on."""
        stop = self.client.connection.on_change(self._on_link)
        draft = self.chat.state.get("draft")
        self.shell.text = draft["text"] if draft is not None else ""
        try:
            self.start(self._draw(), "draw")
            self.start(self._learn_commands(), "learn commands")
            for signal in (self.chat.channel.changed, self.session.channel.changed):
                self.start(self._relay(signal), "relay")
            # So that not even the first thing that is drawn is an empty screen.
            self._refresh()
            await self.shell.run()
        finally:
            stop()
            self.hint("")
            await self.acting.finish()
            await self.contents.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return self._left or Leave()

    def leave(self, left: Left) -> None:
        """End the conversation; what ends it first counts."""
        if self._left is None:
            self._left = left
            self.shell.leave()

    def note(self, *lines: Line) -> None:
        """Print lines for good."""
        self._notes += lines
        self._wake.set()

    def hint(self, text: str, seconds: float = HINT) -> None:
        """Say something above the line to type into, for a while or until something is entered."""
        self._hint = text
        self._wake.set()
        if self._hint_ends is not None:
            self._hint_ends.cancel()
        if text:
            self._hint_ends = asyncio.get_running_loop().call_later(seconds, self.hint, "")

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run something beside the conversation; if it fails, so does the conversation."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    # What the user does.

    def on_submit(self, text: str) -> None:
        """Take a line that was entered."""
        text = as_typed(text)
        self._hint = ""
        self._wake.set()
        dialogue = self.desk.dialogue
        if (dialogue is None or not dialogue.is_literal) and self._is_slip(text):
            return
        if dialogue is None:
            self._carry_out(intents.parse(text))
            return
        if time.monotonic() < self._look_first:
            self.hint("this is another question than a moment ago; look at it first")
            return
        if not dialogue.is_literal:
            intent = intents.parse(text)
            is_steering = isinstance(intent, intents.Steer) and not isinstance(dialogue, Questions)
            if is_steering or isinstance(intent, intents.Command):
                self._carry_out(intent)
                return
            text = text.strip()[1:] if text.strip().startswith("//") else text
        self._respond(text)

    def on_edit(self) -> None:
        """Take note that what is typed has changed."""
        self._wake.set()

    def on_interrupt(self) -> None:
        """Take Ctrl-C."""
        running = self.chat.active_turn is not None
        typing = bool(self.shell.text)
        match self._interrupts.press(time.monotonic(), running=running, typing=typing):
            case "leave":
                self.leave(Leave())
            case "cancel":
                self.acting.cancel()
                self.hint("cancelling · Ctrl-C again leaves", self._interrupts.WINDOW)
            case "clear":
                self.shell.text = ""
            case "warn":
                self.hint("Ctrl-C again leaves", self._interrupts.WINDOW)

    def on_escape(self) -> None:
        """Take the Escape key: back to what was asked before."""
        if self.desk.back() and self.desk.dialogue is not None:
            self.shell.text = self.desk.dialogue.prefill
            self._wake.set()

    def on_end(self) -> None:
        """Take Ctrl-D on an empty line."""
        self.leave(Leave())

    # What that leads to.

    def _is_slip(self, text: str) -> bool:
        """Ask about a line that is almost a command; False where it is fine as it is."""
        # An answer cannot be a command of the agent's.
        agents = self._agent_commands if self.desk.dialogue is None else ()
        meant = intents.slip_in(text, agents)
        if meant is None:
            return False
        if self.desk.dialogue is None and not self._learned.is_set():
            # Whoever types faster than the host answers may well mean the agent.
            self.start(self._submit_once_learned(text), "submit")
            return True
        word = text.split()[0]
        self.shell.text = text
        self.hint(f"there is no {word}: did you mean /{meant}? /{word} says it as it is")
        return True

    async def _learn_commands(self) -> None:
        """Ask what the agent's own commands are; a host need not know."""
        with contextlib.suppress(AgentHostError, TimeoutError):
            async with asyncio.timeout(LEARNING):
                items = await self.chat.completions("/")
            words = (item["insertText"].strip() for item in items)
            self._agent_commands = {word[1:] for word in words if word.startswith("/")}
        self._learned.set()

    async def _submit_once_learned(self, text: str) -> None:
        await self._learned.wait()
        self.on_submit(text)

    def _carry_out(self, intent: intents.Intent | None) -> None:
        try:
            match intent:
                case intents.Say(text):
                    self.acting.say(text)
                case intents.Steer(text):
                    self.acting.steer(text)
                case intents.Command():
                    self._errands.do(intent)
        except AgentHostError as error:
            self.note(trouble("that did not work", str(error)))

    def _respond(self, text: str) -> None:
        reply = self.desk.respond(text)
        self.follow_up(reply)
        if isinstance(reply, Hint):
            self.shell.text = text

    def follow_up(self, reply: Reply) -> None:
        """Do what a reply to what is asked leads to."""
        if isinstance(reply, Hint):
            self.hint(reply.text)
        elif isinstance(reply, Act):
            self.acting.answer(reply)
        else:
            self.shell.text = reply.prefill
            draft = reply.draft() if isinstance(reply, Questions) else None
            if draft is not None:
                self.acting.draft(reply.pending, draft)

    # Drawing.

    async def _draw(self) -> None:
        while True:
            self._refresh()
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

    def _refresh(self) -> None:
        gone = self.chat.channel.gone or self.session.channel.gone
        if gone is not None:
            self.leave(Leave(gone))
            return
        width, rows = self.shell.size
        confirmed = self.chat.channel.confirmed
        self._fetch(confirmed)
        shown = self.transcript.update(confirmed, width)
        self._note_turn()
        self.acting.mark_read()
        self._ask(confirmed)
        notes = [row for note in (*self._banner, *self._notes) for row in wrap(note, width)]
        self._banner, self._notes = (), []
        live = [*shown.live, *self._lower(width, rows)]
        dialogue = self.desk.dialogue
        label = line(("ask", dialogue.label)) if dialogue is not None else line(("user", "› "))
        bar = frames.bar(
            place_of(self.client, self.session, self.chat),
            self._link,
            running=self.chat.active_turn is not None,
            asking=dialogue is not None,
            now=time.monotonic(),
            width=width - 1,
        )
        self.shell.keeps_history = dialogue is None
        self.shell.show(Frame([*notes, *shown.printed], live, label, bar))

    def _lower(self, width: int, rows: int) -> list[Line]:
        """Return what stands between the turn and the line to type into."""
        chat, confirmed = self.chat.state, self.chat.channel.confirmed
        lines = [*frames.unsent_lines(chat, confirmed, self._link, width), EMPTY]
        current, queued = self.desk.current, frames.pending_lines(chat, width)
        if current is not None:
            lines += queued
            lines += current.card(width, rows - 6, self._preview(current.pending, width - 4))
            if self.desk.dialogue is None:
                lines.append(line(("ask", "▌ "), ("dim", _LATER)))
            elif len(self.desk.waiting) > 1:
                more = f"and {len(self.desk.waiting) - 1} more after this"
                lines.append(line(("ask", "▌ "), ("dim", more)))
        elif self._turn is not None:
            now = time.monotonic()
            lines += [frames.busy_line(chat, self._turn[1], now, self._link), *queued]
        else:
            lines += queued
        return [*lines, line(("ask", self._hint))] if self._hint else lines

    def _ask(self, confirmed: Any) -> None:
        """Ask what waits, unless something is being typed that is meant as a message."""
        session = self.session
        found = waiting(self.chat.uri, confirmed, session.chats, session.input_needed)
        was_asking = self.desk.dialogue is not None
        for told in self.desk.look(found, confirmed):
            self.note(line(("dim", "· "), told))
        settled = was_asking and self.desk.dialogue is None
        if settled:
            self.shell.text = ""
        if self.desk.dialogue is None and not self.shell.text:
            dialogue = self.desk.open()
            if dialogue is not None:
                self.shell.text = dialogue.prefill
                self._look_first = time.monotonic() + LOOK_FIRST if settled else 0.0
        for pending in self.desk.waiting:
            if pending.kind != "questions":
                self.contents.want(pending.item)

    def _preview(self, pending: Pending, width: int) -> list[Line]:
        """Return what is known of what a call refers to, and would do if it is approved."""
        if pending.kind == "questions":
            return []
        return self.contents.preview_lines(pending.item, width)

    def _fetch(self, confirmed: Any) -> None:
        """See to it that people are shown what was changed while they were there."""
        turns: list[Any] = [confirmed["activeTurn"]] if "activeTurn" in confirmed else []
        for turn in reversed(confirmed["turns"]):
            if turn["id"] in self._over:
                break
            self._over.add(turn["id"])
            turns.append(turn)
        for turn in turns:
            for part in turn["responseParts"]:
                if part["kind"] == "toolCall" and part["toolCall"]["status"] == "completed":
                    self.contents.want(part["toolCall"])

    def _changed(self) -> None:
        self._wake.set()

    def _note_turn(self) -> None:
        active = self.chat.active_turn
        if active is None:
            if self._turn is not None:
                self._turn, self._hint = None, ""
        elif self._turn is None or self._turn[0] != active["id"]:
            ago = frames.seconds_since(active.get("startedAt") or "", datetime.now(UTC))
            self._turn = (active["id"], time.monotonic() - ago)

    def _on_link(self, state: ConnectionState) -> None:
        self._link = frames.Link(state, time.monotonic())
        told = frames.link_note(state, self._lost)
        if told is not None:
            self._lost = not self._link.is_up
            self.note(told)
            self.contents.try_again()
        self._wake.set()
        if isinstance(state, Closed):
            self.leave(Leave(state.error))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self.leave(Leave(error))


def place_of(client: Client, session: Session, chat: Chat) -> frames.Place:
    """Say where one is."""
    state, root = session.state, client.root
    known = root.state["agents"] if root.has_state else []
    agents = {agent["provider"]: agent["displayName"] for agent in known}
    name = one_line(agents.get(state["provider"], state["provider"]))
    is_default = chat.uri == state.get("defaultChat") or len(state["chats"]) == 1
    title = "" if is_default else one_line(chat.state["title"])[:20]
    return frames.Place(name, state["title"], short_id(session.uri), title)


_LATER = "your line comes first: Enter sends it, an empty line answers this"
