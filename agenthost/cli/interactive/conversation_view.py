"""What a conversation looks like: its frames, made from the chat's state and what is asked."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agenthost.cli.interactive.chat_location import chat_location
from agenthost.cli.interactive.display import brought_lines, status_lines
from agenthost.cli.interactive.display.brought_lines import BroughtItems
from agenthost.cli.interactive.display.referenced_content import VIEW_HINT
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, line, wrap
from agenthost.cli.interactive.prompts.approvals import Approval
from agenthost.cli.interactive.prompts.dialogue import Dialogue
from agenthost.cli.interactive.screen import Frame
from agenthost.cli.interactive.viewers import READ_ONLY

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation
    from agenthost.client import ConnectionState

MOST_LINES = 200
"""Lines that are printed with one frame: what an agent writes at once must not hold up the keys."""

NEWEST_EDITS = 5
"""Turns of before whose edits are shown as diffs: each file is fetched for it."""

_LATER = "your line comes first: Enter sends it, an empty line answers this"


class ConversationView:
    """Makes the frames of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        at = self._at = conversation
        self.link = status_lines.ConnectionView(at.client.connection.state)
        # Whether the loss of the connection was told.
        self._lost = False
        # What is brought as it is shown and as the host has it, and how servers last fared there.
        self._brought, self._confirmed = BroughtItems(), BroughtItems()
        known = self._confirmed.update(at.session.state).servers
        self._servers = brought_lines.server_kinds(known)
        # The turn under way, and when it began by the monotonic clock.
        self._turn: tuple[str, float] | None = None
        # Turns that are over: what they changed is known or let be, as it is of all but the newest
        # that were over when we came.
        self._over = {turn["id"] for turn in at.chat.state["turns"][:-NEWEST_EDITS]}

    def on_link(self, state: ConnectionState) -> None:
        """Show how the connection fares, and note when it is lost or back."""
        self.link = status_lines.ConnectionView(state, time.monotonic())
        told = status_lines.link_note(state, self._lost)
        if told is not None:
            self._lost = not self.link.is_up
            self._at.note(told)
            self._at.content.retry_failed()

    def update(self) -> None:
        """Note what has changed since the last frame, and fetch what the next one shows."""
        confirmed = self._at.chat.channel.confirmed
        self._prefetch_edits(confirmed)
        self._at.tails.follow(_calls_of(confirmed.get("activeTurn")))
        self._note_turn()
        self._note_servers()

    def frame(self) -> Frame:
        """Return what to draw, with the conversation's notes among what is printed."""
        at = self._at
        width, rows = at.screen.size
        shown = at.transcript.update(at.chat.channel.confirmed, width, most=MOST_LINES)
        if shown.more:
            at.wake()
        notes = [row for note in at.notes for row in wrap(note, width)]
        live = [*shown.live, *self._lines_above_input(width, rows)]
        return Frame([*notes, *shown.printed], live, self._label(), self._bar(width))

    def _label(self) -> StyledLine:
        dialogue = self._at.prompts.dialogue
        if dialogue is not None:
            return line(("ask", dialogue.label))
        return line(("dim", READ_ONLY)) if self._at.is_viewer else line(("user", "› "))

    def _bar(self, width: int) -> StyledLine:
        at = self._at
        agent = self._brought.update(at.session.state).agent_name(at.actions.agent)
        return status_lines.bar(
            chat_location(at.client, at.session, at.chat, agent, at.actions.model),
            self.link,
            running=at.chat.active_turn is not None and not at.is_viewer,
            asking=at.prompts.dialogue is not None,
            now=time.monotonic(),
            width=width - 1,
        )

    def _lines_above_input(self, width: int, rows: int) -> list[StyledLine]:
        """Return the lines between the turn and the input line."""
        at = self._at
        chat, confirmed = at.chat.state, at.chat.channel.confirmed
        lines = [*status_lines.unsent_lines(chat, confirmed, self.link, width), EMPTY]
        lines += status_lines.background_lines(confirmed, width)
        servers = self._brought.update(at.session.state).servers
        lines += brought_lines.busy_server_line(servers, width)
        current, queued = at.prompts.current, status_lines.pending_lines(chat, width)
        if current is not None:
            lines += [*queued, *self._card(current, width, rows)]
        elif self._turn is not None:
            now = time.monotonic()
            lines += [status_lines.busy_line(chat, self._turn[1], now, self.link), *queued]
        else:
            lines += queued
        return [*lines, *wrap(line(("ask", at.hinted)), width)] if at.hinted else lines

    def _card(self, current: Dialogue, width: int, rows: int) -> list[StyledLine]:
        """Return what is asked, and what else is to be said about it."""
        at = self._at
        preview = self._preview(current, width - 4, rows)
        lines = current.card(width, rows - 6, preview, read_only=at.is_viewer)
        told = ""
        if at.prompts.dialogue is None and not at.is_viewer:
            told = _LATER
        elif len(at.prompts.waiting) > 1:
            told = f"and {len(at.prompts.waiting) - 1} more after this"
        return [*lines, line(("ask", "▌ "), ("dim", told))] if told else lines

    def _preview(self, current: Dialogue, width: int, rows: int) -> list[StyledLine]:
        """Return the edits and inputs that a pending call refers to, as far as fetched."""
        if not isinstance(current, Approval):
            return []
        hint = VIEW_HINT if current.is_viewable else ""
        return self._at.content.preview_lines(current.pending.item, width, hint=hint, most=rows)

    def _prefetch_edits(self, confirmed: Any) -> None:
        """Fetch the edits of running turns, of just finished ones, and of the newest of before."""
        turns: list[Any] = [confirmed["activeTurn"]] if "activeTurn" in confirmed else []
        for turn in reversed(confirmed["turns"]):
            if turn["id"] in self._over:
                break
            self._over.add(turn["id"])
            turns.append(turn)
        for turn in turns:
            for part in turn["responseParts"]:
                if part["kind"] == "toolCall" and part["toolCall"]["status"] == "completed":
                    self._at.content.prefetch(part["toolCall"])

    def _note_turn(self) -> None:
        active = self._at.chat.active_turn
        if active is None:
            if self._turn is not None:
                self._turn, self._at.hinted = None, ""
        elif self._turn is None or self._turn[0] != active["id"]:
            ago = status_lines.seconds_since(active.get("startedAt") or "", datetime.now(UTC))
            self._turn = (active["id"], time.monotonic() - ago)

    def _note_servers(self) -> None:
        servers = self._confirmed.update(self._at.session.channel.confirmed).servers
        for told in brought_lines.server_notes(self._servers, servers):
            self._at.note(told)
        self._servers = brought_lines.server_kinds(servers)


def _calls_of(turn: Any) -> list[Any]:
    parts = () if turn is None else turn["responseParts"]
    return [part["toolCall"] for part in parts if part["kind"] == "toolCall"]
