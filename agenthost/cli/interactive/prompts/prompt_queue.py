"""What is being asked right now, and what was answered: one thing at a time, in order.

No terminal, no connection. What somebody has begun to type stays what it was meant as: a question
takes over the line only while that is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agenthost.cli.interactive.prompts.approvals import Approval
from agenthost.cli.interactive.prompts.dialogue import Act, Dialogue, Hint, Reply
from agenthost.cli.interactive.prompts.pending import Pending, how_it_was_settled
from agenthost.cli.interactive.prompts.questions import Questions

Json = Mapping[str, Any]
_Key = tuple[str, str, str]

# What needs no telling, because the turn's end tells it.
_UNTOLD = ("skipped", "withdrawn", "not answered")


class PromptQueue:
    """Keeps what waits for the user."""

    def __init__(self) -> None:
        # What the line typed answers; None while it is a message.
        self.dialogue: Dialogue | None = None
        # What waits, as it was last looked at.
        self.waiting: list[Pending] = []
        # What was answered here, as it was when it was: the host may not have taken it yet.
        self._answered: dict[_Key, Json] = {}
        # Questions whose answers the host refused, to be asked again.
        self._refused: dict[_Key, Questions] = {}
        self._sent: dict[_Key, Dialogue] = {}

    @property
    def current(self) -> Dialogue | None:
        """What is asked, whether or not the line typed answers it."""
        if self.dialogue is not None:
            return self.dialogue
        return self._begin(self.waiting[0]) if self.waiting else None

    def update(self, waiting: Sequence[Pending], chat: Json) -> list[str]:
        """Take note of what waits now; return what others have settled meanwhile."""
        keys = {pending.key for pending in waiting}
        told: list[str] = []
        for pending in self.waiting:
            if pending.key not in keys:
                how = how_it_was_settled(pending, chat)
                if not how.startswith(_UNTOLD):
                    told.append(f"{_name(pending)}: {how} by somebody else")
        for key in [key for key in self._answered if key not in keys]:
            del self._answered[key]
        self.waiting = [
            pending for pending in waiting if self._answered.get(pending.key) is not pending.item
        ]
        self._refresh_dialogue()
        return told

    def ask_next(self) -> Dialogue | None:
        """Let the line typed, which is empty, answer what waits; None when nothing does."""
        if self.dialogue is None and self.waiting:
            self.dialogue = self._begin(self.waiting[0])
        return self.dialogue

    def respond(self, text: str) -> Reply:
        """Take a reply to what is asked."""
        assert self.dialogue is not None
        return self.apply_reply(self.dialogue.respond(text))

    def apply_reply(self, reply: Reply) -> Reply:
        """Go on as a reply says; what it answers is not asked any more."""
        assert self.dialogue is not None
        if isinstance(reply, Act):
            pending = self.dialogue.pending
            self._answered[pending.key] = pending.item
            self._sent[pending.key] = reply.asked
            self._refused.pop(pending.key, None)
            self.waiting = [other for other in self.waiting if other.key != pending.key]
            self.dialogue = None
        elif not isinstance(reply, Hint):
            self.dialogue = reply
        return reply

    def back(self) -> bool:
        """Return to what was asked before; False when this is the beginning."""
        before = self.dialogue.back() if self.dialogue is not None else None
        if before is not None:
            self.dialogue = before
        return before is not None

    def accepted(self, key: _Key) -> None:
        """Take note that the host took an answer."""
        self._sent.pop(key, None)

    def refused(self, key: _Key, reason: str) -> None:
        """Take note that the host refused an answer, so that it is asked again."""
        self._answered.pop(key, None)
        sent = self._sent.pop(key, None)
        if isinstance(sent, Questions):
            self._refused[key] = sent.refused(reason)

    def _refresh_dialogue(self) -> None:
        """Let go of a dialogue that nobody waits for, and show the newest of one that goes on."""
        if self.dialogue is None:
            return
        newest = {pending.key: pending for pending in self.waiting}
        pending = newest.get(self.dialogue.pending.key)
        if pending is None:
            self.dialogue = None
        elif pending.item is not self.dialogue.pending.item:
            self.dialogue = self.dialogue.with_pending(pending)

    def _begin(self, pending: Pending) -> Dialogue:
        if pending.kind != "questions":
            return Approval(pending)
        again = self._refused.get(pending.key)
        return Questions(pending) if again is None else again.with_pending(pending)


def _name(pending: Pending) -> str:
    if pending.kind == "questions":
        return "the questions"
    return str(pending.item["displayName"])
