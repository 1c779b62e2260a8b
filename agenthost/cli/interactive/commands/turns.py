"""Commands for the turns of this chat: /queue, /unqueue, /steer, /cancel, /resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenthost.cli.interactive.commands.chat_command import ChatCommand, numbers, typed_index
from agenthost.cli.interactive.display import listings

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation


def _queue(at: Conversation, text: str) -> None:
    if text:
        at.actions.queue(text)
    else:
        at.note(*listings.queue_lines(at.chat.state, at.screen.size[0]))


def _unqueue(at: Conversation, number: str) -> None:
    queued = at.chat.state.get("queuedMessages") or []
    index = typed_index(number or str(len(queued)), len(queued))
    if index is None:
        at.hint("/unqueue N: there is no queued message with that number")
        return
    at.actions.unqueue(queued[index]["id"])


def _queued_numbers(at: Conversation) -> list[str]:
    return numbers(len(at.chat.state.get("queuedMessages") or ()))


def _steer(at: Conversation, _: str) -> None:
    """Say what is missing: with a text it is no command, but steering."""
    at.hint("/steer TEXT: give the text for the running turn")


def _cancel(at: Conversation, _: str) -> None:
    if not at.actions.cancel():
        at.hint("no turn is running")


def _resume(at: Conversation, _: str) -> None:
    try:
        at.actions.resume()
    except LookupError as error:
        at.hint(str(error))


COMMANDS = (
    ChatCommand("queue", "[TEXT]", "what waits for its turn; or let TEXT wait", _queue),
    ChatCommand(
        "unqueue", "[N]", "take back what waits, the last or number N", _unqueue, _queued_numbers
    ),
    ChatCommand("steer", "TEXT", "tell the agent something while it works, as !TEXT does", _steer),
    ChatCommand("cancel", "", "stop the turn, as Ctrl-C does", _cancel),
    ChatCommand("resume", "", "go on with the last turn after it failed", _resume),
)
