"""The chat's slash commands (``/help``, ``/open``, ``/show``, …)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenthost.cli.connection.session_lookup import find_session
from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.format.session_markdown import session_markdown
from agenthost.cli.format.state_format import is_archived, short_id
from agenthost.cli.interactive.display import listings
from agenthost.cli.interactive.display.blocks import call_in_full
from agenthost.cli.interactive.display.styled_text import EMPTY, line
from agenthost.cli.interactive.outcome import SwitchTo
from agenthost.cli.interactive.prompts.questions import Questions
from agenthost.cli.interactive.typed_input import Command
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation

Json = Mapping[str, Any]

MOST_SESSIONS = 15
"""Sessions that a list on half a screen can hold."""


MOST_CALLS = 10_000
"""The furthest back that anybody counts tool calls."""


class SlashCommands:
    """Runs the slash commands of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._at = conversation
        # What was last listed, by its numbers.
        self._sessions: list[str] = []
        self._commands: dict[str, Callable[[str], None]] = {
            "help": self._help,
            "sessions": self._list_sessions,
            "open": self._open,
            "chats": self._list_chats,
            "chat": self._go_to_chat,
            "queue": self._queue,
            "unqueue": self._unqueue,
            "steer": lambda _: self._at.hint("/steer TEXT: give the text for the running turn"),
            "cancel": lambda _: self._cancel(),
            "resume": lambda _: self._resume(),
            "decline": lambda _: self._close_questions(decline=True),
            "dismiss": lambda _: self._close_questions(decline=False),
            "back": lambda _: self._at.on_escape(),
            "skip": lambda _: self._skip_question(),
            "reasoning": self._reasoning,
            "show": self._show,
            "export": self._export,
            "quit": lambda _: self._at.on_end(),
        }

    def run(self, command: Command) -> None:
        """Run a command."""
        self._commands[command.name](command.argument)

    @property
    def _width(self) -> int:
        return self._at.screen.size[0]

    def _help(self, _: str) -> None:
        self._at.note(*listings.help_lines(self._width))

    def _show(self, number: str) -> None:
        """Print a tool call in full: the pending one, the last one, or the Nth last."""
        current = self._at.prompts.current
        if not number and current is not None and current.pending.kind != "questions":
            # Perhaps of another chat.
            call: Json | None = current.pending.item
        else:
            index = _index(number or "1", MOST_CALLS)
            call = None if index is None else self._nth_last_call(index + 1)
        if call is None:
            self._at.hint(
                "/show N: there is no such tool call" if number else "no tool call so far"
            )
            return
        self._at.start(self._print_call(call), "show")

    def _nth_last_call(self, number: int) -> Json | None:
        return listings.nth_last_call(self._at.chat.state, number)

    async def _print_call(self, call: Json) -> None:
        contents, width = self._at.content, self._width
        await contents.fetch(call)
        kept_input = contents.input_lines(call, width - 2)
        self._at.note(EMPTY, *call_in_full(call, width, contents.edit_lines, kept_input))

    def _reasoning(self, word: str) -> None:
        if word in ("on", "off"):
            self._at.transcript.unfold = word == "on"
            how = "in full" if word == "on" else "folded"
            self._at.note(line(("dim", f"· reasoning is shown {how} from now on")))
            return
        self._at.note(*listings.reasoning_lines(self._at.chat.state, self._width))

    def _cancel(self) -> None:
        if not self._at.actions.cancel():
            self._at.hint("no turn is running")

    def _resume(self) -> None:
        try:
            self._at.actions.resume()
        except LookupError as error:
            self._at.hint(str(error))

    def _queue(self, text: str) -> None:
        if text:
            self._at.actions.queue(text)
        else:
            self._at.note(*listings.queue_lines(self._at.chat.state, self._width))

    def _unqueue(self, number: str) -> None:
        queued = self._at.chat.state.get("queuedMessages") or []
        index = _index(number or str(len(queued)), len(queued))
        if index is None:
            self._at.hint("/unqueue N: there is no queued message with that number")
            return
        self._at.actions.unqueue(queued[index]["id"])

    def _close_questions(self, *, decline: bool) -> None:
        dialogue = self._at.prompts.ask_next()
        if not isinstance(dialogue, Questions):
            self._at.hint("there are no questions")
            return
        act = dialogue.decline() if decline else dialogue.dismiss()
        self._at.prompts.apply_reply(act)
        self._at.actions.answer(act)

    def _skip_question(self) -> None:
        dialogue = self._at.prompts.ask_next()
        if isinstance(dialogue, Questions):
            self._at.follow_up(self._at.prompts.apply_reply(dialogue.skip()))
        else:
            self._at.hint("there are no questions")

    # Elsewhere.

    def _list_sessions(self, _: str) -> None:
        self._at.start(self._print_sessions(), "sessions")

    async def _print_sessions(self) -> None:
        try:
            page = await self._at.client.sessions.page(limit=MOST_SESSIONS)
        except AgentHostError as error:
            self._at.note(line(("bad", "✗ "), str(error)))
            return
        shown = [item for item in page["items"] if not is_archived(item["status"])]
        self._sessions = [item["resource"] for item in shown]
        now = datetime.now(UTC).astimezone()
        lines = listings.sessions_lines(shown, self._at.session.uri, now, self._width)
        self._at.note(*lines)

    def _open(self, text: str) -> None:
        if not text:
            self._at.hint("/open SESSION: a number of /sessions, an id or a title")
            return
        index = _index(text, len(self._sessions))
        self._at.start(self._go_to(self._sessions[index] if index is not None else text), "open")

    async def _go_to(self, text: str) -> None:
        try:
            self._at.leave(SwitchTo(await find_session(self._at.client, text)))
        except (CommandFailed, AgentHostError) as error:
            self._at.note(*(line(("bad", row)) for row in str(error).splitlines()))

    def _list_chats(self, _: str) -> None:
        now = datetime.now(UTC).astimezone()
        state = self._at.session.state
        self._at.note(*listings.chats_lines(state, self._at.chat.uri, now, self._width))

    def _go_to_chat(self, number: str) -> None:
        chats = self._at.session.chats
        index = _index(number, len(chats))
        if index is None:
            self._at.hint("/chat N: a number of /chats")
        else:
            self._at.leave(SwitchTo(self._at.session.uri, chats[index]["resource"]))

    def _export(self, text: str) -> None:
        at = self._at
        path = Path(text or f"{short_id(at.session.uri)}.md").expanduser()
        session = {**at.session.state, "resource": at.session.uri}
        try:
            # What is there already may be dear to somebody.
            with path.open("x", encoding="utf-8") as file:
                file.write(session_markdown(session, [at.chat.channel.confirmed]))
        except OSError as error:
            self._at.note(line(("bad", "✗ "), f"{path}: {error.strerror}"))
            return
        self._at.note(line(("good", "✓ "), f"written to {path.resolve()}"))


def _index(text: str, count: int) -> int | None:
    """Return the index for a typed number, counted from 1; None if it is out of range."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= count:
        return int(text) - 1
    return None
