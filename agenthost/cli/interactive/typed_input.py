"""Parsing typed lines: messages, steering, slash commands.

Pure. Agents have commands with slashes too, so only the names in ``COMMANDS`` are ours; everything
else goes to the agent, and two slashes send even those names. What looks like one of the known
commands and is none is a slip of the finger, which no model should be asked to make sense of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

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
    "resume": ("", "go on with the last turn after it failed"),
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

# What commands look like, unlike paths.
_WORD = re.compile(r"/[A-Za-z][\w-]*")
# How much of two words must be the same for one to be a slip: in a word of four letters, three.
_SIMILAR = 0.75


@dataclass(frozen=True, slots=True)
class Say:
    """A message to send, or to queue while a turn runs."""

    text: str


@dataclass(frozen=True, slots=True)
class Steer:
    """A message for the running turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """One of the chat's own slash commands."""

    name: str
    argument: str = ""


Intent: TypeAlias = Say | Steer | Command


def parse(text: str) -> Intent | None:
    """Parse a typed line; None when it is empty."""
    text = text.strip()
    if not text:
        return None
    if text.startswith("//"):
        return Say(text[1:])
    if text.startswith("!") and text[1:].strip():
        return Steer(text[1:].strip())
    command = own_command(text)
    if command is not None and command.name == "steer" and command.argument:
        return Steer(command.argument)
    return command or Say(text)


def own_command(text: str) -> Command | None:
    """Return the slash command in a line, if it is one of the chat's own."""
    word, _, argument = text.strip().partition(" ")
    if not word.startswith("/"):
        return None
    name = _SAME.get(word[1:], word[1:])
    return Command(name, argument.strip()) if name in COMMANDS else None


def mistyped_command(text: str, agents: Collection[str] = ()) -> str | None:
    """Return the slash command that a mistyped line is closest to; None if it is not mistyped.

    ``agents`` are the commands that the agent is known to have, without their slashes. Where none
    are known, a command with arguments is the agent's unless ours of that name takes some.
    """
    word, _, argument = text.strip().partition(" ")
    if not _WORD.fullmatch(word) or own_command(text) is not None or word[1:] in agents:
        return None
    meant = _closest(word[1:].lower(), [*COMMANDS, *_SAME, *agents])
    if meant is None:
        return None
    takes_none = not COMMANDS.get(_SAME.get(meant, meant), ("",))[0]
    return None if not agents and argument.strip() and takes_none else meant


def _closest(word: str, names: Sequence[str]) -> str | None:
    close = get_close_matches(word, names, 1, _SIMILAR)
    # In a short word, two letters that changed places are half of it.
    swapped = [name for name in names if sorted(name) == sorted(word)]
    return next(iter(close or swapped), None)


class Interrupts:
    """Decides what Ctrl-C does: clear, cancel the turn, leave."""

    WINDOW = 2.0
    """Seconds in which a second one counts as such."""

    def __init__(self) -> None:
        self._last: float | None = None

    def on_interrupt(
        self, now: float, *, running: bool, typing: bool
    ) -> Literal["leave", "cancel", "clear", "warn"]:
        """Return what one Ctrl-C does; ``typing`` is whether there is text to clear."""
        again = self._last is not None and now - self._last <= self.WINDOW
        self._last = now
        if again:
            return "leave"
        if running:
            return "cancel"
        return "clear" if typing else "warn"
