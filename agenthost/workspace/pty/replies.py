"""What a terminal answers to the programs in it, once, however many people look at it.

Every client that shows a terminal would answer what a program asks, and each answer would arrive
as if it were typed. So the host answers, and clients never see the question; only where the cursor
is, they alone know.
"""

from __future__ import annotations

import re

from agenthost.workspace.pty.osc import Query

# A VT220 with colours; the version of no particular emulator; all is well; white on black.
_ANSWERS = {
    Query.ATTRIBUTES: "\x1b[?62;22c",
    Query.SECONDARY_ATTRIBUTES: "\x1b[>0;0;0c",
    Query.STATUS: "\x1b[0n",
    Query.FOREGROUND: "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    Query.BACKGROUND: "\x1b]11;rgb:0000/0000/0000\x1b\\",
}
_NOWHERE = "\x1b[1;1R"
_POSITION = re.compile("\x1b\\[[0-9]{1,4};[0-9]{1,4}R")
# Answers in a second. A program that asks more often does not listen, and whatever reads the
# terminal next would have to read them all.
MOST_ANSWERS = 100
# Seconds in which others' answers to the same question may still come.
LATE = 1.0
# The same once the terminal has answered in place of those who follow it.
TOO_LATE = 5.0


class Replies:
    """The answers that one terminal gives."""

    def __init__(self) -> None:
        # Questions for the cursor that nobody has answered, and until when answers are expected.
        self._open = 0
        self._until = 0.0
        # Questions since some moment, less than a second ago.
        self._asked = 0
        self._since = 0.0

    def to(self, query: Query, now: float, followed: bool) -> str | None:
        """Return what the terminal answers; None = whoever follows it is to be asked."""
        if not 0 <= now - self._since < 1:
            self._asked, self._since = 0, now
        self._asked += 1
        if self._asked > MOST_ANSWERS:
            return ""
        if query is not Query.CURSOR:
            return _ANSWERS[query]
        if not followed:
            return _NOWHERE
        self._open = self._open + 1 if now < self._until else 1
        self._until = now + LATE
        return None

    @property
    def is_waiting(self) -> bool:
        """Whether those who follow the terminal have yet to answer."""
        return self._open > 0

    def overdue(self, now: float) -> str:
        """Return what the terminal answers in place of those who follow it and did not."""
        if now < self._until:
            return ""
        answers, self._open = _NOWHERE * self._open, 0
        self._until = now + TOO_LATE
        return answers

    def typed(self, text: str, now: float) -> str:
        """Return what reaches the program of what somebody typed: no second answer."""
        if now >= self._until or "R" not in text:
            return text
        return _POSITION.sub(self._first, text)

    def _first(self, answer: re.Match[str]) -> str:
        if not self._open:
            return ""
        self._open -= 1
        return answer[0]
