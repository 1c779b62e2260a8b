"""Parsing typed lines: messages, steering, slash commands.

Agents have commands with slashes too, so only those in the registry are ours; two slashes send even
those names to the agent. A word with a slash that is nobody's command is a slip of the finger,
which no model should be asked to make sense of.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

from agenthost.cli.interactive.commands.registry import COMMANDS, SAME

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
    word, argument = _split(text)
    if not word.startswith("/"):
        return None
    name = SAME.get(word[1:], word[1:])
    return Command(name, argument) if name in COMMANDS else None


def foreign_command(text: str) -> str | None:
    """Return the name of the slash command in a line, without its slash, unless it is ours."""
    word, _ = _split(text)
    return word[1:] if _WORD.fullmatch(word) and own_command(text) is None else None


def mistyped_command(text: str) -> str | None:
    """Return the command of ours that a line is a slip of the finger for; None if it is none.

    For answers, which may well be paths. What a command without arguments is followed by speaks
    against it.
    """
    name, (_, argument) = foreign_command(text), _split(text)
    meant = None if name is None else closest_command(name)
    if meant is None or (argument and not COMMANDS[SAME.get(meant, meant)].usage):
        return None
    return meant


def closest_command(name: str, agents: Collection[str] = ()) -> str | None:
    """Return the command that is most like a name, of ours and of the agent's."""
    names, word = [*COMMANDS, *SAME, *agents], name.lower()
    # Letters that changed places are the likeliest slip, and in a short word half of it.
    swapped = [other for other in names if sorted(other) == sorted(word)]
    return next(iter(swapped or get_close_matches(word, names, 1, _SIMILAR)), None)


def no_such_command(name: str, agents: Collection[str] = (), *, to_agent: bool = True) -> str:
    """Return what to say to a command that nobody has, and how to send it to the agent anyway."""
    meant = closest_command(name, agents)
    asked = f"; did you mean /{meant}?" if meant is not None else ""
    anyway = f" · //{name} sends it to the agent" if to_agent else ""
    return f"there is no command /{name}{asked}{anyway}"


def _split(text: str) -> tuple[str, str]:
    """Return the first word of a line, and what follows it."""
    word, *rest = text.split(None, 1) or [""]
    return word, rest[0].strip() if rest else ""


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
