"""What one of the chat's own slash commands is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation


def no_words(_: Conversation) -> Sequence[str]:
    """Return what may follow a command of which that cannot be said: nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A slash command: how it is typed, what it does, and how it is done."""

    name: str
    # What may follow the name, as help shows it.
    usage: str
    about: str
    # Gets what was typed after the name.
    run: Callable[[Conversation, str], None]
    # What can be completed after the name, each as a whole.
    words: Callable[[Conversation], Sequence[str]] = no_words
    # Whether somebody who may only look may give it.
    viewer: bool = False


def numbers(count: int) -> list[str]:
    """Return the numbers of so many things, as they are typed."""
    return [str(number) for number in range(1, count + 1)]


def typed_index(text: str, count: int) -> int | None:
    """Return the index for a typed number, counted from 1; None if it is out of range."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= count:
        return int(text) - 1
    return None
