"""All slash commands of the chat; help, completion and the documentation read them here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.interactive.commands import (
    answering,
    brought,
    changes,
    configuring,
    quitting,
    retry_and_undo,
    session_switching,
    showing,
    terminals,
    turns,
)
from agenthost.cli.interactive.commands.chat_command import ChatCommand
from agenthost.cli.interactive.display import help_text

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation


SAME: Mapping[str, str] = {"approvals": "mode", "exit": "quit", "q": "quit"}
"""Second names of commands."""


def _help(at: Conversation, name: str) -> None:
    """Print all commands, or what one does."""
    width, rows = at.screen.size
    if not name:
        at.note(*help_text.help_lines(_groups_for(at), width, rows))
        return
    name = name.removeprefix("/")
    command = COMMANDS.get(SAME.get(name, name))
    if command is None:
        at.hint(f"there is no command /{cell(name, MOST_NAME)}; /help lists them")
        return
    others = [other for other, known in SAME.items() if known == command.name]
    at.note(*help_text.command_lines(command, others, width))


def _groups_for(at: Conversation) -> Mapping[str, Sequence[ChatCommand]]:
    """Return the commands that somebody can give here."""
    if not at.is_viewer:
        return GROUPS
    seen = {about: [each for each in group if each.viewer] for about, group in GROUPS.items()}
    return {about: group for about, group in seen.items() if group}


def _names(_: Conversation) -> Sequence[str]:
    return list(COMMANDS)


def _keys(at: Conversation, _: str) -> None:
    at.note(*help_text.keys_lines(at.screen.size[0]))


_OF_HELP = (
    ChatCommand("help", "[NAME]", "this list; or what a command does", _help, _names, viewer=True),
    ChatCommand("keys", "", "what the keys do", _keys, viewer=True),
)

GROUPS: Mapping[str, Sequence[ChatCommand]] = {
    "help": (*_OF_HELP, *quitting.COMMANDS),
    "places": session_switching.COMMANDS,
    "agent": (*brought.COMMANDS, *configuring.COMMANDS),
    "turns": (*turns.COMMANDS, *retry_and_undo.COMMANDS),
    "questions": answering.COMMANDS,
    "looking": (*showing.COMMANDS, *changes.COMMANDS, *terminals.COMMANDS),
}
"""The commands by what they are about, in the order of the help."""

COMMANDS: Mapping[str, ChatCommand] = {
    command.name: command for group in GROUPS.values() for command in group
}
"""The commands by their names."""
