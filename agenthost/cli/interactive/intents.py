"""What somebody means by a line typed: something to say, or one of this command's own commands.

Pure. Agents have commands with slashes too, so only the names in ``COMMANDS`` are ours; everything
else goes to the agent, and two slashes send even those names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["COMMANDS", "Command", "Intent", "Interrupts", "Say", "Steer", "command_in", "parse"]

COMMANDS: dict[str, tuple[str, str]] = {
    "help": ("", "this list"),
    "sessions": ("", "the newest sessions of this host"),
    "open": ("SESSION", "go to another session: number, id or title"),
    "chats": ("", "the chats of this session, workers included"),
    "chat": ("N", "go to another chat of this session"),
    "queue": ("[TEXT]", "what waits for its turn; or let TEXT wait"),
    "unqueue": ("[N]", "take back what waits, the last or number N"),
    "steer": ("TEXT", "tell the agent something while it works, as !TEXT does"),
    "cancel": ("", "stop the turn, as Ctrl-C does"),
    "decline": ("", "do not answer the questions"),
    "dismiss": ("", "close the questions without a word"),
    "back": ("", "return to the question before"),
    "skip": ("", "pass the question over, also one that has a default"),
    "reasoning": ("[on|off]", "show the last reasoning; on: always in full"),
    "show": ("[N]", "what is asked about, or the last tool call, in full: input, output, diff"),
    "export": ("[PATH]", "write this chat to a file as Markdown"),
    "quit": ("", "leave, as Ctrl-D does; a running turn goes on"),
}
"""Our commands: what may follow each, and what it does."""

_SAME = {"exit": "quit", "q": "quit"}


@dataclass(frozen=True, slots=True)
class Say:
    """Send this, or queue it while a turn runs."""

    text: str


@dataclass(frozen=True, slots=True)
class Steer:
    """Tell the running turn this."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """Do something that is ours to do."""

    name: str
    argument: str = ""


Intent: TypeAlias = Say | Steer | Command


def parse(text: str) -> Intent | None:
    """Read a line; None when there is nothing in it."""
    text = text.strip()
    if not text:
        return None
    if text.startswith("//"):
        return Say(text[1:])
    if text.startswith("!") and text[1:].strip():
        return Steer(text[1:].strip())
    command = command_in(text)
    if command is not None and command.name == "steer" and command.argument:
        return Steer(command.argument)
    return command or Say(text)


def command_in(text: str) -> Command | None:
    """Return the command of ours that a line is, if it is one."""
    word, _, argument = text.strip().partition(" ")
    if not word.startswith("/"):
        return None
    name = _SAME.get(word[1:], word[1:])
    return Command(name, argument.strip()) if name in COMMANDS else None


class Interrupts:
    """What Ctrl-C means: stop the turn; twice in a row, leave."""

    WINDOW = 2.0
    """Seconds in which a second one counts as such."""

    def __init__(self) -> None:
        self._last: float | None = None

    def press(
        self, now: float, *, running: bool, typing: bool
    ) -> Literal["leave", "cancel", "clear", "warn"]:
        """Say what to do about one; ``typing`` is whether there is text that it could clear."""
        again = self._last is not None and now - self._last <= self.WINDOW
        self._last = now
        if again:
            return "leave"
        if running:
            return "cancel"
        return "clear" if typing else "warn"
