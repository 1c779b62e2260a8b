"""Help in a chat: the commands as they fit the screen, one command in full, the keys.

Pure: the commands are handed in, by group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, indented, line, wrap

if TYPE_CHECKING:
    from agenthost.cli.interactive.commands.chat_command import ChatCommand

CommandGroups: TypeAlias = "Mapping[str, Sequence[ChatCommand]]"
"""Commands by what they are about, in a word."""

LEAST_BESIDE = 24
"""Columns that an explanation needs to stand beside what it explains."""

LEAST_FULL = 72
"""Columns on which each command has a row of its own with what it does."""

OTHER_ROWS = 4
"""Rows of the screen that the input line, the bar and what is around them take."""

_KEYS = (
    ("Enter", "send; while a turn runs, queue"),
    ("Alt-Enter", "another line"),
    ("Tab", "complete a command, a session, a setting, a skill or a file"),
    ("@FILE", "attach a file of the session's folders"),
    ("!TEXT", "steer the running turn; between turns, run TEXT in a shell, if the host does"),
    ("//TEXT", "send /TEXT to the agent, though it looks like a command"),
    ("Up, Down", "earlier messages, also of other sessions"),
    ("Ctrl-R", "search in them"),
    ("Ctrl-X Ctrl-E", "write the message in $EDITOR"),
    ("v", "while something waits for a yes: all of it, with the whole diff"),
    ("Esc", "return to the question before"),
    ("Ctrl-C", "cancel the turn, or clear the line; twice, leave"),
    ("Ctrl-D", "leave; a running turn goes on"),
)
# First, because an agent that says "try /help" means its own.
_AGENT = "//help asks the agent what it understands."
_FULL = (
    " Where both have a command, /NAME is the chat's and //NAME the agent's. /keys lists the keys."
)
_SHORT = " Where both have one, //NAME is the agent's. /help NAME tells what a command does."


def help_lines(groups: CommandGroups, width: int, rows: int) -> list[StyledLine]:
    """Return all commands: each with what it does or, on a small screen, their names."""
    full = _full(groups, width) if width >= LEAST_FULL else []
    return full if full and len(full) + OTHER_ROWS <= rows else _names(groups, width)


def _full(groups: CommandGroups, width: int) -> list[StyledLine]:
    commands = [command for group in groups.values() for command in group]
    listed = [(_usage(command), command.about) for command in commands]
    return [EMPTY, *_first(_FULL, width), *_explained(listed, width)]


def _names(groups: CommandGroups, width: int) -> list[StyledLine]:
    size = max(map(len, groups)) + 2
    lines: list[StyledLine] = []
    for about, group in groups.items():
        names = line(("key", " ".join(f"/{command.name}" for command in group)))
        rest = ("", " " * (size + 2))
        lines += indented(wrap(names, width - size - 2), ("dim", f"  {about:<{size}}"), rest)
    return [EMPTY, *_first(_SHORT, width), EMPTY, *lines]


def command_lines(command: ChatCommand, others: Sequence[str], width: int) -> list[StyledLine]:
    """Return what a command does, and the other names that it has."""
    also = f" (also /{', /'.join(others)})" if others else ""
    return [EMPTY, *_explained([(_usage(command), f"{command.about}{also}")], width)]


def keys_lines(width: int) -> list[StyledLine]:
    """Return what the keys do."""
    return [EMPTY, *_explained(_KEYS, width)]


def _first(rest: str, width: int) -> list[StyledLine]:
    return indented(wrap(line(("key", _AGENT), ("dim", rest)), width - 2), ("", "  "))


def _usage(command: ChatCommand) -> str:
    return f"/{command.name} {command.usage}".strip()


def _explained(pairs: Sequence[tuple[str, str]], width: int) -> list[StyledLine]:
    """Return words and what they mean: side by side, or one below the other."""
    size = max(len(left) for left, _ in pairs)
    beside = width - size - 4
    lines: list[StyledLine] = []
    for left, right in pairs:
        if beside < LEAST_BESIDE:
            lines.append(line("  ", ("key", left)))
            lines += indented(wrap(line(right), width - 4), ("", "    "))
        else:
            rows = indented(wrap(line(right), beside), ("key", f"{left:<{size}}  "))
            lines += [line("  ", *row) for row in rows]
    return lines
