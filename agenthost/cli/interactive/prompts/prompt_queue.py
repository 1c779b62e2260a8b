"""The queue of approvals and questions: one is asked at a time.

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
    """The pending prompts of one conversation, and the one being asked."""

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
        """The first prompt, whether or not the input line answers it."""
        if self.dialogue is not None:
            return self.dialogue
        return self._begin(self.waiting[0]) if self.waiting else None

    def update(self, waiting: Sequence[Pending], chat: Json) -> list[str]:
        """Set the pending prompts; return notes on those that others have settled."""
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
        """Begin to ask the first pending prompt; None when there is none."""
        if self.dialogue is None and self.waiting:
            self.dialogue = self._begin(self.waiting[0])
        return self.dialogue

    def respond(self, text: str) -> Reply:
        """Handle a reply to the current prompt."""
        assert self.dialogue is not None
        return self.apply_reply(self.dialogue.respond(text))

    def apply_reply(self, reply: Reply) -> Reply:
        """Apply a reply: a complete one ends the dialogue, another dialogue replaces it."""
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
        """Return to the previous step; False at the first one."""
        before = self.dialogue.back() if self.dialogue is not None else None
        if before is not None:
            self.dialogue = before
        return before is not None

    def accepted(self, key: _Key) -> None:
        """Record that the host accepted an answer."""
        self._sent.pop(key, None)

    def refused(self, key: _Key, reason: str) -> None:
        """Record that the host refused an answer, so that it is asked again."""
        self._answered.pop(key, None)
        sent = self._sent.pop(key, None)
        if isinstance(sent, Questions):
            self._refused[key] = sent.refused(reason)

    def _refresh_dialogue(self) -> None:
        """Drop the dialogue if its prompt is settled; else give it the prompt's newest state."""
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
