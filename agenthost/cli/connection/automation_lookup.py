"""Finding the automation that a command is about: by URI, id or title."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agenthost.cli.connection.command_hints import hint
from agenthost.cli.connection.host_connection import decode_argument
from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.format.state_format import session_id
from agenthost.cli.format.terminal_text import clip, one_line

if TYPE_CHECKING:
    from agenthost.client import Client
    from agenthost.protocol.automation.state import AutomationEntry

# Of the automations that a word could mean, this many are named.
_MOST_NAMED = 5


async def find_automation(client: Client, text: str) -> AutomationEntry:
    """Return the one automation that a text matches.

    Raises:
        CommandFailed: it means none, or more than one.
    """
    text = decode_argument(text)
    found = match_automations(await client.automations.list(), text)
    if not found:
        message = f"no automation matches {text!r}; {hint('automations')} lists them"
        raise CommandFailed(message, kind="notFound")
    if len(found) > 1:
        named = [
            f"  {session_id(each['resource'])}  {clip(one_line(each['definition']['title']), 60)}"
            for each in found[:_MOST_NAMED]
        ]
        more = [f"  and {len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
        message = "\n".join([f"{text!r} could mean several automations:", *named, *more])
        raise CommandFailed(message, kind="ambiguous")
    return found[0]


def match_automations(entries: Sequence[AutomationEntry], text: str) -> list[AutomationEntry]:
    """Return the automations that match: by URI, id, start of an id, title, part of a title."""
    word = text.casefold()
    ways: tuple[Callable[[AutomationEntry], bool], ...] = (
        lambda entry: entry["resource"] == text,
        lambda entry: session_id(entry["resource"]) == text,
        lambda entry: session_id(entry["resource"]).startswith(text),
        lambda entry: entry["definition"]["title"].casefold() == word,
        lambda entry: word in entry["definition"]["title"].casefold(),
    )
    for means in ways if text else ():
        found = [entry for entry in entries if means(entry)]
        if found:
            return found
    return []
