"""Asking before what cannot be taken back: the line is filled in, and Enter is the yes.

A ``yes`` counts for what was asked about only; when the chat has gone on since, it is asked anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agenthost.cli.interactive.display.styled_text import EMPTY

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation
    from agenthost.cli.interactive.display.styled_text import StyledLine

_YES = "yes"

# What was asked last in a conversation: the command, and what it was about.
_asked: WeakKeyDictionary[Conversation, tuple[str, str]] = WeakKeyDictionary()


def without_yes(argument: str) -> tuple[str, bool]:
    """Return what was typed after a command without its ``yes``, and whether there was one."""
    *words, last = argument.split() or [""]
    return (" ".join(words), True) if last == _YES else (argument, False)


def is_confirmed(
    at: Conversation, command: str, about: str, *told: StyledLine, yes: bool = False
) -> bool:
    """Return whether somebody said yes to a command; otherwise tell what it does, and ask.

    Args:
        at: where it is asked.
        command: the command as it is typed, without its ``yes``.
        about: what tells this question from another one with the same words.
        told: what will happen.
        yes: whether it was typed with a ``yes``.
    """
    if yes and _asked.pop(at, None) == (command, about):
        return True
    _asked[at] = (command, about)
    at.note(EMPTY, *told)
    if at.screen.text:
        # Somebody has typed on meanwhile.
        at.hint(f"{command} {_YES} does it")
    else:
        at.screen.text = f"{command} {_YES}"
        at.hint("Enter does it, Ctrl-C does not")
    return False
