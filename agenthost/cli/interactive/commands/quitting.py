"""Leaving the chat: /quit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.cli.interactive.commands.chat_command import ChatCommand

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation


def _quit(at: Conversation, _: str) -> None:
    at.on_end()


COMMANDS = (
    ChatCommand("quit", "", "leave, as Ctrl-D does; a running turn goes on", _quit, viewer=True),
)
